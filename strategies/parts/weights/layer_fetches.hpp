#pragma once

#include "strategies/parts/weights/weights.hpp"

namespace spillway::strategies {

/// One rank's weights on their way to the GPU during a pass, layer by layer: with overlap
/// `Weights::ahead` layers before their turn, without it at their turn.
class LayerFetches {
 public:
  LayerFetches(Machine& machine, const Job& job, Weights& weights);

  /// Of all layers, for several micro-batches at once.
  void begin_pass(bool backward) { begin_pass(backward, {0, layers()}, std::nullopt); }
  /// Of some layers in a row, for one of them.
  void begin_pass(bool backward, models::Span layers, std::optional<std::uint64_t> micro_batch);
  /// The layer that runs as number `turn` of the pass.
  std::uint32_t layer_at(std::uint32_t turn) const { return backward_ ? order_[turn].layer : turn; }
  /// In that turn of a backward it runs forward once more.
  bool runs_again(std::uint32_t turn) const { return backward_ && order_[turn].again; }
  std::uint32_t layers() const { return static_cast<std::uint32_t>(fetches_.size()); }
  /// The first turn of the pass; behind its last.
  std::uint32_t first_turn() const { return turns_.first; }
  std::uint32_t turns() const { return turns_.last; }
  bool overlap() const { return overlap_; }

  /// The hook of the layer that begins to run as number `turn`: fetches the next ones.
  void prefetch_behind(std::uint32_t turn);
  /// Nothing of the layer, or not all, comes before its turn: without overlap, and as DeepSpeed's
  /// limits have it.
  bool comes_in_its_turn(std::uint32_t layer);
  /// GPU memory that the layer's weights still take; 0 where they come in their turn only, or are
  /// on their way.
  std::uint64_t missing_bytes(std::uint32_t layer);
  /// GPU memory that those of the layer's weights take which are not always there.
  std::uint64_t gpu_bytes(std::uint32_t layer);
  /// It is the layer's turn: its weights.
  ///   Throws  OutOfMemory
  Task<GatheredWeights> arrive(std::uint32_t layer);

 private:
  void fetch(std::uint32_t layer);

  Machine& machine_;
  Weights& weights_;
  bool overlap_;  ///< false: reads from SSD begin when the layer before has left the GPU
  bool backward_ = false;
  models::Span turns_;
  const std::vector<BackwardStep>& order_;
  std::vector<Pending<GatheredWeights>> fetches_;  ///< by layer
};

}  // namespace spillway::strategies
