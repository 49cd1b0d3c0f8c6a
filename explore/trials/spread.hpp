#pragma once

#include "explore/outcome/outcomes.hpp"

namespace spillway::explore {

/// How far a group of a machine's numbers may be off that nobody states (scenarios/knobs/spread),
/// or one that several figures pin (description::PinnedInterval).
struct SpreadGroup {
  std::string name;
  std::vector<std::string> paths;  ///< of this machine, each assumed or a default; or one fitted
  double low = 1, high = 1;        ///< factors on them, the low one slower
  bool slows = false;              ///< the more the slower: the numbers are divided instead
};

/// The groups of which a machine has such numbers.
std::vector<SpreadGroup> open_groups(const description::MachineFile& machine);

/// `machine` with a factor on each number of some groups; shares stay below 1.
description::MachineFile moved(const description::MachineFile& machine,
                               const std::vector<std::pair<SpreadGroup, double>>& factors);

/// From the least to the most that the open groups leave for headline numbers of `now`, by path in
/// the JSON of a result: step_time_s, throughput.tokens_per_s, run.days, run.kwh, run.usd.energy,
/// wear.lifetime_years.
///   Method   each group that decides times is simulated at its low end, alone, and all of them at
///            their high ends, together; 1024 draws of all groups, each factor uniform in its
///            logarithm, are ranked by those effects in proportion; of the draw at 95 % the step is
///            simulated. Low ends lie further from the number that is taken than high ones, so the
///            answer may stand at the fast end. Energy, its price and wear follow from the ranked
///            times and their own groups' draws
///   Covers   nine of ten draws of what nobody states, and of what figures pin to an interval. Not:
///            what sheets and measurements state, the model's own error (spillway fidelity), memory
///   Result   empty for what does not fit, and where every number is stated
std::map<std::string, std::pair<double, double>> range_of(const Backend& backend,
                                                          const description::Scenario& scenario,
                                                          const result::Result& now,
                                                          std::uint64_t seed,
                                                          const Effort& effort = {});

}  // namespace spillway::explore
