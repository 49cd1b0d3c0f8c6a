#pragma once

#include <string>
#include <vector>

#include "scenarios/description/scenario.hpp"

namespace spillway::scenarios {

/// A value of a scenario that is another one when its DeepSpeed configuration is imported again.
struct RoundTripDifference {
  std::string path;          ///< "strategy.weights.pool"
  std::string asked, comes;  ///< as people write them
};

/// Whether DeepSpeed has one optimizer for both: its Adam is AdamW.
bool one_optimizer_in_deepspeed(const description::Training& one,
                                const description::Training& other);

/// What differs between a scenario and the one that came back, and changes a byte or a second:
/// sizes that bind nothing, knobs of homes that are not used and "auto" for the number that it
/// stands for are left out.
std::vector<RoundTripDifference> round_trip_differences(const description::Scenario& asked,
                                                        const description::Scenario& back);

}  // namespace spillway::scenarios
