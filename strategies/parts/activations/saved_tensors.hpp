#pragma once

#include "strategies/parts/activations/activation_memory.hpp"
#include "strategies/parts/activations/passes.hpp"

#include <optional>

namespace spillway::strategies {

/// A layer's pass that is about to be issued.
struct PassTurn {
  const Passes* passes = nullptr;
  std::uint32_t layer = 0;
  LayerOperands at;
  Op before;  ///< the pass before it
};

/// A layer's backward, with what room there is for what comes back for it.
struct BackwardTurn : PassTurn {
  bool whole = true;        ///< all that comes back for it is on its way
  std::uint64_t leave = 0;  ///< bytes of GPU memory that the layer below needs first
};

/// What happens to the tensors that a layer's forward saves for its backward, and to hidden states
/// that backward needs again: one of the implementations that make_saved_tensors (make.hpp) chooses
/// has all of them. It gives the saved ones their memory, and issues passes so that each tensor is
/// there when a kernel uses it.
class SavedTensors {
 public:
  SavedTensors(Machine& machine, Rank rank, const Job& job, ActivationMemory& memory)
      : machine_(machine), rank_(rank), job_(job), memory_(memory) {}
  virtual ~SavedTensors() = default;

  /// Memory and extents outside the GPU.
  ///   Throws  OutOfMemory
  virtual Task<> init() { co_return; }

  // ---- Passes of a layer

  /// Memory for what its forward saves.
  ///   Throws  OutOfMemory
  virtual void before_forward(std::uint32_t layer) = 0;
  virtual Task<IssuedPass> forward(PassTurn turn) = 0;
  /// `issued`: the layer's forward. Moves away what is not to stay.
  virtual void after_forward(std::uint32_t /*layer*/, const IssuedPass&) {}
  /// Its forward is about to run once more: brings its input back.
  ///   Result  what its first kernel must wait for
  ///   Throws  OutOfMemory
  virtual Task<std::vector<Op>> before_again(std::uint32_t /*layer*/) {
    co_return std::vector<Op>();
  }
  /// Waits until the way back of all that its backward needs at once is free.
  ///   Result  what its first kernel must wait for
  virtual Task<std::vector<Op>> before_backward(BackwardTurn) { co_return std::vector<Op>(); }
  /// `after`: what before_backward said.
  virtual Task<IssuedPass> backward(BackwardTurn turn, std::vector<Op> after) = 0;
  /// Backward of the layer makes some of them again.
  virtual bool recomputes(std::uint32_t /*layer*/) const { return false; }

  // ---- Of those that leave the GPU and come back layer by layer

  /// Passes wait for room that tensors make which leave.
  virtual bool waits() const { return false; }
  /// Waits for the next tensor that leaves.  Result  false: none does
  virtual Task<bool> one_leaves() { co_return false; }
  /// All that the layer's backward needs is on the GPU, or on its way there.
  virtual bool returns_all(std::uint32_t layer) const {
    return job_.plans.layers[layer].returns.empty();
  }
  /// GPU memory of what is neither, as the GPU's allocator rounds.
  virtual std::uint64_t bytes_to_return(std::uint32_t /*layer*/) const { return 0; }
  /// Sends for it, ahead of the layer's turn; where passes wait for room as far as that leaves
  /// `leave` bytes of GPU memory free.
  virtual void prefetch(std::uint32_t /*layer*/, std::uint64_t /*leave*/) {}
  /// It is the layer's turn: sends for all of it.
  ///   Throws  OutOfMemory
  virtual void call_back(std::uint32_t /*layer*/) {}
  /// Where the plan says so, sends for what layers below `layer` need, as far as there is room.
  virtual void return_early(std::uint32_t /*layer*/) {}

  // ---- Micro-batches and steps

  /// What follows is about the micro-batch of this record.
  virtual void use(std::size_t /*record*/) {}
  /// Its forward begins.
  ///   backward_follows  with nothing in between
  virtual void begin_micro_batch(bool /*backward_follows*/) {}
  /// The micro-batch whose backward comes after this pass, if it is another's.
  virtual void expect_backward(std::optional<std::size_t> /*record*/) {}
  /// The hidden tensor has a second holder, which keeps it as long as backward needs it.
  virtual bool holds(std::uint32_t /*hidden*/) const { return false; }
  /// Waits for what is still being moved.
  virtual Task<> end_micro_batch() { co_return; }
  virtual void step_ended() {}
  /// The run ends: waits for what is still being stored.
  virtual Task<> settle() { co_return; }

 protected:
  const LayerPlan& plan(std::uint32_t layer) const { return job_.plans.layers[layer]; }

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  ActivationMemory& memory_;
};

}  // namespace spillway::strategies
