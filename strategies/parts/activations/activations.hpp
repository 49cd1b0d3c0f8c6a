#pragma once

#include "strategies/parts/activations/saved_tensors.hpp"

namespace spillway::strategies {

/// One rank's activations on the GPU: temporaries of the pass that runs, logits, hidden states that
/// layers, and pipeline stages, hand on. What layers save for backward is with SavedTensors.
class Activations {
 public:
  /// Both outlive it.
  Activations(Machine& machine, Rank rank, const Job& job, ActivationMemory& memory,
              SavedTensors& saved);

  /// What follows is about the micro-batch of this record.
  void use(std::size_t record);
  /// Waits for what is still being moved.
  Task<> end_micro_batch();

  // ---- Between pipeline stages: LayerPlans::traffic

  /// Memory for a hidden tensor that the stage before, or the next, is about to send.
  View receive(std::uint32_t hidden);
  View hidden_view(std::uint32_t hidden) const;
  /// It is on its way to another stage, which keeps it alive as long as that takes.
  void sent(std::uint32_t hidden);

  // ---- Passes of a layer

  /// Temporaries and workspace are those of the pass that runs; the next pass takes them over when
  /// it needs as much. Where it does not, the pass before must be done when `make_room` is called.
  ///   Throws  OutOfMemory
  bool has_room(const TemporaryBytes& room) const;
  void make_room(const TemporaryBytes& room);

  /// What the layer's pass takes of GPU memory, beside what the pass before leaves it, as the GPU's
  /// allocator rounds.
  std::uint64_t gpu_bytes(std::uint32_t layer, bool backward) const;

  /// Buffers for what the layer's forward writes.
  void before_forward(std::uint32_t layer);
  /// `issued`: the layer's forward. Moves away what is not to stay; releases what nobody needs
  /// again.
  void after_forward(std::uint32_t layer, const IssuedPass& issued);
  /// Buffers for what a layer's forward hands on that runs once more in backward.
  void before_again(std::uint32_t layer);
  void before_backward(std::uint32_t layer);
  void after_backward(std::uint32_t layer);
  /// Of a backward that is split: nothing of the layer is needed any more.
  void after_weight_gradients(std::uint32_t layer);

  const std::vector<Buffer>& saved(std::uint32_t layer) const { return now().saved[layer]; }
  /// Of the layer's saved tensors, in backward.
  std::vector<Op>& saved_arrivals(std::uint32_t layer) {
    return memory_.now().saved_arrivals[layer];
  }
  View transient() const { return transient_ ? transient_.view() : View(); }
  View scratch() const { return scratch_ ? scratch_.view() : View(); }
  View logits(std::uint32_t layer) const { return now().logits[layer].view(); }
  const std::vector<Buffer>& hidden() const { return now().hidden; }

 private:
  const ActivationMemory::Record& now() const {
    return static_cast<const ActivationMemory&>(memory_).now();
  }
  Buffer allocate_hidden(std::uint32_t hidden) {
    return memory_.allocate(job_.plans.hidden[hidden].bytes);
  }

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  ActivationMemory& memory_;
  SavedTensors& saved_;
  Buffer transient_, scratch_;
};

}  // namespace spillway::strategies
