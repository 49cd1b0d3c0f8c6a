#pragma once

#include "strategies/parts/activations/activation_swap.hpp"
#include "strategies/parts/activations/saved_on_gpu.hpp"

#include <deque>

namespace spillway::strategies {

/// Saved tensors of which some leave for host memory or drives (LayerPlans::moved): when the kernel
/// that completes one has run, hidden states after the forward of the layer that reads them last.
/// They come back a layer ahead of their use.
///   Source  MemAscend IV-D, steps 4 and 6
class SavedAndMoved : public SavedOnGpu {
 public:
  SavedAndMoved(Machine& machine, Rank rank, const Job& job, ActivationMemory& memory);

  Task<> init() override;
  void use(std::size_t record) override { now_ = record; }
  void after_forward(std::uint32_t layer, const IssuedPass& issued) override;
  Task<std::vector<Op>> before_again(std::uint32_t layer) override {
    call_back(layer);
    return arrivals(layer, 0);
  }
  Task<std::vector<Op>> before_backward(BackwardTurn turn) override {
    return arrivals(turn.layer, 0);
  }
  bool returns_all(std::uint32_t layer) const override {
    return returned(layer) == plan(layer).returns.size();
  }
  std::uint64_t bytes_to_return(std::uint32_t layer) const override;
  void prefetch(std::uint32_t layer, std::uint64_t /*leave*/) override { call_back(layer); }
  void call_back(std::uint32_t layer) override;
  Task<> end_micro_batch() override;

 protected:
  /// The tensor that the layer's backward needs next of those that were not sent for.
  const MovedTensor& next_back(std::uint32_t layer) const {
    return job_.plans.moved[plan(layer).returns[returned(layer)]];
  }
  void send_for_next(std::uint32_t layer, Buffer into);
  /// Of what was sent for, but for the first `from`: waits until it is on its way.
  ///   Result  what brings hidden states; saved tensors' is left for the kernels that use them
  Task<std::vector<Op>> arrivals(std::uint32_t layer, std::size_t from);

  ActivationSwap& swap() { return swaps_[now_]; }
  /// Of LayerPlan::returns, in the order of their use, so many were sent for.
  std::size_t returned(std::uint32_t layer) const { return returned_[now_][layer]; }

 private:
  std::deque<ActivationSwap> swaps_;                ///< by micro-batch under way
  std::vector<std::vector<std::size_t>> returned_;  ///< the same, then by layer
  std::size_t now_ = 0;
};

}  // namespace spillway::strategies
