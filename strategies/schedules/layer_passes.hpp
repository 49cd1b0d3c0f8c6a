#pragma once

#include "strategies/parts/activations/passes.hpp"
#include "strategies/parts/room.hpp"
#include "strategies/schedules/streaming_rank.hpp"

namespace spillway::strategies {

/// Forward and backward of one rank's layers.
///   forward    layers ascending: weights arrive one layer ahead, kernels, the checkpoint leaves
///   backward   layers descending: weights and checkpoint arrive one layer ahead, recomputation,
///              kernels, gradients leave. Of blocks that share a checkpoint, those below run
///              forward once more first, ascending, and leave their outputs
///   Hides      fetches behind the kernels of the layer before (weights.overlap); gradients behind
///              the next layer's
///   Source     ZeRO-Infinity (SC'21) section 6; DeepSpeed stage3.py; MemAscend section II
class LayerPasses {
 public:
  explicit LayerPasses(StreamingRank& parts);

  /// piece             of LayerPlans::pieces
  /// backward_follows  with nothing in between: the last layers' weights may stay
  Task<> forward(StepNumbers numbers, std::uint64_t piece, bool backward_follows);
  /// Where it is split, without the gradients of weights that may come later.
  Task<> backward(StepNumbers numbers, std::uint64_t piece, MicroBatch micro);
  /// These.
  ///   Source  Zero Bubble Pipeline Parallelism (ICLR 2024), 2: W
  Task<> weight_gradients(StepNumbers numbers, std::uint64_t piece, MicroBatch micro);

 private:
  Task<> run_again(std::uint32_t layer, std::uint32_t turn);
  void take_turn(PassTurn& turn, std::uint32_t layer, const GatheredWeights& weights) const;

  const Job& job_;
  Activations& activations_;
  SavedTensors& saved_;
  Weights& weights_;
  Gradients& gradients_;
  LayerFetches fetches_;
  Passes passes_;
  Room room_;
  StepNumbers numbers_;
};

}  // namespace spillway::strategies
