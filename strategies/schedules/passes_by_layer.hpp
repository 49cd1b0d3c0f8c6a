#pragma once

#include "strategies/schedules/layer_passes.hpp"

namespace spillway::strategies {

/// Forward and backward of all micro-batches of a step, layer by layer.
///   forward    layers ascending: weights arrive once, each micro-batch runs, its checkpoint leaves
///   between    the last layer, with the loss: of each micro-batch forward, then backward, so that
///              logits of one alone are there
///   backward   layers descending: weights arrive once, each micro-batch runs; kernels add up its
///              weight gradients, which leave behind the last one
///   Holds      what all micro-batches save, and their hidden states between two layers
///   Source     GreedySnake (arXiv 2512.17570), vertical scheduling
class PassesByLayer {
 public:
  explicit PassesByLayer(StreamingRank& parts);

  Task<> forward();
  Task<> backward();
  /// Of the last micro-batch.
  StepNumbers numbers() const { return parts_.progress.numbers(micro_batches() - 1); }

 private:
  std::uint64_t micro_batches() const { return parts_.job.steps->micro_batches(); }
  void go_to(std::uint64_t micro);
  bool is_last(std::uint32_t layer) const { return layer + 1 == fetches_.layers(); }
  PassTurn turn_of(std::uint32_t layer, const GatheredWeights& weights) const;
  void follow(std::uint64_t micro, IssuedPass issued, GatheredWeights& weights);
  void call_back(std::uint64_t micro, std::uint32_t layer);
  Task<> run_again(std::uint32_t layer, std::uint32_t number);
  Task<> run_backward(std::uint32_t layer, std::uint32_t number);
  Task<> run_forward(std::uint32_t layer, const GatheredWeights& weights);
  Task<IssuedPass> back(std::uint32_t layer, const GatheredWeights& weights,
                        LayerGradients& gradients);

  StreamingRank& parts_;
  LayerFetches fetches_;
  Passes passes_;
  Room room_;
  StepNumbers numbers_;
};

}  // namespace spillway::strategies
