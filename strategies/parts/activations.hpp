#pragma once

#include "strategies/job.hpp"

namespace spillway::strategies {

/// One rank's activations of one micro-batch at a time.
///   keep              every saved tensor stays on the GPU from forward to backward
///   checkpoint_gpu    blocks keep their input only and are computed again in backward; one block's
///   saved tensors live checkpoint_host   the inputs go to pinned host memory while later blocks
///   compute, and come back one block ahead Source  MemAscend IV-D, steps 4 and 6; "Training Deep
///   Nets with Sublinear Memory Cost"
class Activations {
 public:
  Activations(Machine& machine, Rank rank, const Job& job);

  bool recomputes(std::uint32_t layer) const;

  void end_micro_batch();

  /// Temporaries and workspace are those of the pass that runs; the next pass takes them over when
  /// it needs as much. Where it does not, the pass before must be done when `make_room` is called.
  ///   Throws  OutOfMemory
  bool has_room(std::uint32_t layer, bool backward) const;
  void make_room(std::uint32_t layer, bool backward);

  /// Buffers for what the layer's forward writes.
  void before_forward(std::uint32_t layer);
  /// `computed`: the layer's forward. Offloads its input where the policy says so; releases what
  /// nobody needs again.
  void after_forward(std::uint32_t layer, const Op& computed);
  /// Starts to bring back the layer's input; called one layer ahead.
  void prefetch_backward(std::uint32_t layer);
  void before_backward(std::uint32_t layer);
  void after_backward(std::uint32_t layer);

  /// What a pass of `layer` must wait for.
  std::vector<Op> arrivals(std::uint32_t layer) const;
  View saved(std::uint32_t layer) const;
  View transient() const { return transient_ ? transient_.view() : View(); }
  View scratch() const { return scratch_ ? scratch_.view() : View(); }
  View logits(std::uint32_t layer) const { return logits_[layer].view(); }
  const std::vector<Buffer>& hidden() const { return hidden_; }

 private:
  struct Room {
    std::uint64_t transient = 0, scratch = 0;
  };
  Room room_for(std::uint32_t layer, bool backward) const;
  bool offloads(const HiddenTensor& tensor) const;

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  description::ActivationPolicy policy_;
  Buffer transient_, scratch_;
  std::vector<Buffer> saved_, logits_;                ///< by layer
  std::vector<Buffer> hidden_, host_copies_;          ///< by hidden tensor
  std::vector<Op> offloaded_, restored_;              ///< by hidden tensor
  std::vector<std::vector<std::uint32_t>> offloads_;  ///< by consuming layer: hidden tensors
};

}  // namespace spillway::strategies
