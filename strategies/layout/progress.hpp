#pragma once

#include "strategies/layout/job.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::strategies {

/// How far a rank's training is, and the scale that keeps fp16 gradients in range.
///   Scale    2^initial_scale_power where fp16 is trained with an overflow check, else 1. The
///            second overflow in a row of good and bad steps halves it, as does every further one,
///            down to 1; `window` good steps after the last overflow double it
///   Source   DeepSpeed runtime/fp16/loss_scaler.py, DynamicLossScaler: delayed_shift 2,
///            scale_window 1000, min_scale 1
class Progress {
 public:
  static constexpr std::uint64_t window = 1000;

  explicit Progress(const Job& job)
      : gradients_(static_cast<float>(job.scenario.training.gradient_accumulation *
                                      job.scenario.parallel.replicas())) {
    const bool scales = job.activation_type() == ElementType::fp16 &&
                        job.scenario.strategy.overflow_check != description::OverflowCheck::none;
    if (scales)
      scale_ = std::ldexp(1.0F, static_cast<int>(job.scenario.training.initial_scale_power));
    scales_ = scales;
  }

  StepNumbers numbers(std::uint64_t micro_batch) const {
    StepNumbers now;
    now.step = step_;
    now.micro_batch = micro_batch;
    now.update = updates_ + 1;
    now.loss_scale = scale_;
    now.inverse_scale = 1.0F / (scale_ * gradients_);
    return now;
  }

  /// A step is over; `overflow`: it was skipped.
  void step_ended(bool overflow) {
    ++step_;
    if (!overflow) ++updates_;
    if (!scales_) return;
    if (overflow) {
      if (patience_ > 1)
        --patience_;
      else
        scale_ = std::max(scale_ / 2, 1.0F);
      good_steps_ = 0;
    } else if (++good_steps_ % window == 0) {
      scale_ *= 2;
      patience_ = 2;
    }
  }

 private:
  float gradients_;  ///< summed into one: micro-batches of all ranks with these weights
  float scale_ = 1;
  bool scales_ = false;
  std::uint64_t step_ = 0, updates_ = 0, good_steps_ = 0;
  std::uint64_t patience_ = 2;
};

}  // namespace spillway::strategies
