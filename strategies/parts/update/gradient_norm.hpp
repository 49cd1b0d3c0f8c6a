#pragma once

#include "strategies/layout/job.hpp"

namespace spillway::strategies {

/// The global norm of a step's gradients, which may be no longer than `training.gradient_clipping`:
/// a place on the GPU for each weight's sum of squares, and one for the sum over all.
///   Exact     sums are whole numbers, so that the norm has the same bits however gradients are
///             shared, and in whatever order they come
///   Counts    each gradient once: ranks that hold the same share leave it to the first of them
///   Clipping  as the field has it, gradients times max / (norm + 1e-6) where that is below 1, all
///             of them by one number. It is part of what an update multiplies gradients by, which
///             rounds them once; a pass over them takes its time besides
///   Source    PyTorch, clip_grad_norm_; DeepSpeed stage_1_and_2.py and stage3.py,
///             scaled_global_norm and unscale_and_clip_grads; Megatron-LM clip_grads.py
class GradientNorm {
 public:
  GradientNorm(Machine& machine, Rank rank, const Job& job);

  /// Throws  OutOfMemory
  Task<> init();
  /// `kernel`, a norm of this rank's share of the weight's gradient, leaves its sum here, where
  /// nobody else counts it.
  void leave(GpuKernel& kernel, std::uint32_t weight) const;
  /// All ranks add up what such kernels, which are done, have left.
  ///   Result  `numbers`, for gradients that are clipped
  Task<StepNumbers> clipped(StepNumbers numbers) const;

 private:
  bool counts(std::uint32_t weight) const;

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Buffer sums_;   ///< by weight; of those that others count 0
  Buffer total_;  ///< of this rank, then of all
  Buffer norm_;   ///< one number
};

}  // namespace spillway::strategies
