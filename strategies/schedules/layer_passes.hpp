#pragma once

#include "strategies/parts/activations/passes.hpp"
#include "strategies/parts/room.hpp"
#include "strategies/schedules/streaming_rank.hpp"

namespace spillway::strategies {

/// Forward and backward of one rank's layers.
///   forward    layers ascending: weights arrive one layer ahead, kernels, the checkpoint leaves
///   backward   layers descending: weights and checkpoint arrive one layer ahead, recomputation,
///              kernels, gradients leave
///   Hides      fetches behind the kernels of the layer before (weights.overlap); gradients behind
///              the next layer's
///   Source     ZeRO-Infinity (SC'21) section 6; DeepSpeed stage3.py; MemAscend section II
class LayerPasses {
 public:
  explicit LayerPasses(StreamingRank& parts);

  /// backward_follows  with nothing in between: the last layers' weights may stay
  Task<> forward(Numbers numbers, bool backward_follows);
  Task<> backward(Numbers numbers, MicroBatch micro);

 private:
  LayerOperands operands(std::uint32_t layer, const GatheredWeights& weights) const;
  PassIssuer issuer(const PassPlan& pass, const LayerOperands& at, std::vector<Op> after) const;
  IssuedPass issue(const PassPlan& pass, const LayerOperands& at, std::vector<Op> after) const;
  Task<IssuedPass> issue_forward(std::uint32_t layer, LayerOperands at);
  Task<IssuedPass> forward_by_module(std::uint32_t layer, LayerOperands at);
  Task<IssuedPass> issue_backward(std::uint32_t layer, LayerOperands at, bool whole);
  Task<Op> backward_by_module(std::uint32_t layer, LayerOperands at, std::vector<Op> after);
  Task<IssuedPass> as_it_returns(std::uint32_t layer, LayerOperands at);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Activations& activations_;
  Weights& weights_;
  Gradients& gradients_;
  LayerFetches fetches_;
  Room room_;
  Numbers numbers_;
};

}  // namespace spillway::strategies
