#pragma once

#include "strategies/parts/activations/activations.hpp"
#include "strategies/parts/update/gradients.hpp"
#include "strategies/parts/weights/layer_fetches.hpp"

namespace spillway::strategies {

/// One rank's room on its GPU while the layers of a pass follow each other: the place that asks
/// whether what a layer's turn needs fits into what is free, as the GPU's allocator rounds, and
/// waits where it does not. What is waited for, in this order:
///   parts      of the pass before: each gives back what came for it
///   pass       the rest of it, and with it the weights that it used. A caching allocator reuses in
///              stream order what a pass gives back
///   leaving    saved tensors that leave the GPU, the oldest first
///   gradients  of the layers before
/// Then the turn takes what it needs, or runs out of memory. Prefetches take what is free, and
/// leave what the next turn needs first.
class Room {
 public:
  Room(Machine& machine, Rank rank, const Job& job, LayerFetches& fetches, Activations& activations,
       SavedTensors& saved, Gradients& gradients);

  void begin_pass();
  /// A layer's pass was issued, with these weights: it is now the pass before. `parts`: those of it
  /// that give something back.
  void follow(Op last, std::vector<Op> parts, GatheredWeights weights);
  const Op& pass_before() const { return before_; }
  /// Waits for the pass before; its weights are given up.
  Task<> pass_ends();

  /// Waits until the layer's weights, which may be on their way, find room.
  Task<> for_weights(std::uint32_t layer);
  /// ... its gradients.
  Task<> for_gradients(std::uint32_t layer);
  /// ... its forward, and has its temporaries.
  ///   Throws  OutOfMemory
  Task<> for_forward(std::uint32_t layer);
  /// ... its backward; what comes back for it is sent for.
  ///   Result  false: all of that has no room at once, it goes part by part
  ///   Throws  OutOfMemory
  Task<bool> for_backward(std::uint32_t layer);
  /// ... its gradients of weights, which a split backward left out, and has their temporaries.
  ///   Throws  OutOfMemory
  Task<> for_weight_gradients(std::uint32_t layer);
  /// GPU memory that what comes back for this and higher layers leaves for the weights and the
  /// gradients of the layer below, which are needed before it. Bytes
  std::uint64_t left_by(std::uint32_t layer) const;
  /// The layer runs: sends for what those below it need, behind their weights and gradients.
  void call_back_below(std::uint32_t layer);

 private:
  bool fits(std::uint64_t bytes) const { return bytes <= machine_.usage(TierId::gpu, rank_).free; }
  bool fits_pass(std::uint32_t layer, bool backward) const;
  Task<> temporaries(TemporaryBytes room);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  LayerFetches& fetches_;
  Activations& activations_;
  SavedTensors& saved_;
  Gradients& gradients_;
  Op before_;
  std::vector<Op> parts_;
  std::size_t ended_ = 0;  ///< parts that were waited for
  GatheredWeights in_use_;
};

}  // namespace spillway::strategies
