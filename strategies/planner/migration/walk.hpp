#pragma once

#include "strategies/planner/migration/planner.hpp"

namespace spillway::strategies::planner {

/// A step as the plan makes it.
struct Walk {
  double step_s = 0;
  std::vector<double> waits_s;  ///< by kernel: before it
};

/// Walks the kernels of a steady step with the plan running, as the executor does: an array carries
/// what is due first, one thing at a time also where a mix would be faster, host transfers of each
/// way are a queue by due time, a kernel waits for its operands and for room, a prefetch for room.
///   lifetimes  whose kernels take what the profile says, from start to start
///   Throws     InternalError when nothing can go on: a plan that does not fit
Walk walk_plan(const Lifetimes& lifetimes, const PlanSettings& settings, const Plan& plan);

}  // namespace spillway::strategies::planner
