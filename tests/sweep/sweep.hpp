#pragma once

#include "explore/outcomes.hpp"
#include "tests/sweep/scenarios.hpp"

#include <map>

namespace spillway::sweep {

struct Options {
  std::uint64_t seed = 1, first = 0, scenarios = 100;
  double limit_s = 30;  ///< of a scenario
  std::uint64_t compare_of =
      8;                    ///< of so many that fit one is held against better machines; 0: none
  double tolerance = 0.01;  ///< of a step, by which a better machine may be slower
};

/// A scenario that got slower, or stopped fitting, on a better machine.
struct Slower {
  std::uint64_t number = 0;
  std::string axis, system;
  double before_s = 0, after_s = 0;  ///< after: 0 where it does not fit
};

/// How often what was refused, by the first complaint without its numbers.
using Refusals = std::map<std::string, std::uint64_t>;

struct Counts {
  std::uint64_t feasible = 0, infeasible = 0;
  Refusals refused;
  std::vector<std::pair<std::uint64_t, std::string>> too_slow;  ///< number and system
  std::vector<std::pair<std::uint64_t, std::string>> internal;  ///< number and what was said
  std::map<std::string, std::uint64_t> compared;                ///< by axis
  std::vector<Slower> slower;
  std::uint64_t all_refused() const;
  std::uint64_t all() const {
    return feasible + infeasible + all_refused() + too_slow.size() + internal.size();
  }
};

/// Simulates `options.scenarios` of the seed, each in a process of its own.
///   tell  called after each batch
Counts sweep(const explore::Backend& backend, const Options& options,
             const std::function<void(const Counts&)>& tell);

}  // namespace spillway::sweep
