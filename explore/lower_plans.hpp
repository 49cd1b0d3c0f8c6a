#pragma once

#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"

#include <string>
#include <vector>

namespace spillway::explore {

/// A plan for less than a machine has.
struct LowerPlan {
  std::string words;  ///< "planned for 19.0 GiB of GPU memory"
  description::Scenario scenario;
};

/// Planners foresee a step, and may foresee it wrongly: a plan that uses less of the machine can be
/// the faster one. What to try beside the plan for all of it, at most eight; a plan for less is a
/// plan for more, as memory can stay empty and what is fast can wait: the best of them is what the
/// machine can do.
///   swap, plan        the next lower step of GPU memory (a fourth root of 2) and the next two of
///                     host memory (2), half the rate of the GPU and of the drives; of a swap also
///                     three quarters of its bytes
///   tensor cache      half and a quarter of the drives' rate, one drive fewer, half of them
///   active gradients  updates at half and a quarter of the rate
///   memory alone      where the plan for all of it does not fit
///   None              with `strategy.plan.lower_limits` 0. Nor for updates that steps do not wait
///                     for: slower ones come later, which is no plan for more
///   own               what came of the plan for all of it
std::vector<LowerPlan> lower_plans(const description::Scenario& scenario,
                                   const result::Result& own);

/// A plan that turns out better may have a better one below it, on another axis too: as long as one
/// is, those of the best are tried, so often at most.
inline constexpr int lower_rounds = 4;

/// Which of two plans of one scenario is better by more than the steps of a run differ.
bool is_better(const result::Result& lower, const result::Result& own);

}  // namespace spillway::explore
