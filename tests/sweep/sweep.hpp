#pragma once

#include "explore/outcome/outcomes.hpp"
#include "tests/sweep/scenarios.hpp"

#include <map>

namespace spillway::sweep {

struct Options {
  std::uint64_t seed = 1, first = 0, scenarios = 100;
  std::string system;   ///< the others are drawn and left out; "": all
  double limit_s = 30;  ///< of a scenario
  std::uint64_t compare_of =
      8;  ///< of so many that fit one is held against better machines; 0: none
  /// Of a step, by which a better machine may be slower: as much as the steps of one run may differ
  /// by and still count as steady.
  double tolerance = 0.001;
  /// The same of a step without a plan or with the same one, whose queues may be served in a worse
  /// order.
  double queue_tolerance = 0.02;
};

/// A scenario that got slower, or stopped fitting, on a better machine.
struct Slower {
  std::uint64_t number = 0;
  std::string axis, system;
  double before_s = 0, after_s = 0;  ///< after: 0 where it does not fit
  std::string scenario;
  bool planned = true;  ///< by another plan
  double more() const { return after_s / before_s - 1; }
};

struct Finding {
  std::uint64_t number = 0;
  std::string what, scenario;
};

/// How often what was refused, by the first complaint without its numbers.
using Refusals = std::map<std::string, std::uint64_t>;

struct Counts {
  std::uint64_t feasible = 0, infeasible = 0;
  Refusals refused;                  ///< of all attempts
  std::uint64_t refused_always = 0;  ///< in each attempt
  std::vector<Finding> too_slow;     ///< what: the system
  std::vector<Finding> internal;
  std::map<std::string, std::uint64_t> compared;  ///< by axis
  std::vector<Slower> slower;                     ///< by more than the tolerance
  std::vector<Slower> reordered;  ///< by no other plan, and by less than the queues' tolerance
  /// Skipped: plans weigh each tensor against all others, which takes long for many layers.
  std::uint64_t too_large = 0;
  std::vector<Finding> impossible;  ///< steps shorter than any schedule can make them
  std::uint64_t all() const {
    return feasible + infeasible + refused_always + too_large + too_slow.size() + internal.size();
  }
};

/// Simulates `options.scenarios` of the seed, each in a process of its own.
///   tell  called after each batch
Counts sweep(const explore::Backend& backend, const Options& options,
             const std::function<void(const Counts&)>& tell);

}  // namespace spillway::sweep
