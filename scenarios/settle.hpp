#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/description/scenario.hpp"
#include "scenarios/located_json.hpp"

namespace spillway::scenarios {

/// Values that follow from others and were not asked for, by dotted path, with the rule's reason.
struct Settled {
  std::map<std::string, std::string> reasons;
  std::vector<std::string> warnings;
};

/// Settles what the parts leave no choice about: bf16 and fp32 have no overflow check, a pool
/// exists only for weights on SSD, preset fields without use are dropped, GDS without GPUDirect
/// becomes `direct`. What the scenario itself says is kept, except the overflow check, which gets a
/// warning.
///   written   the scenario as a person wrote it; decides what was asked for
///   defaults  of the system; its knobs are those that the system reads
Settled settle(description::Scenario& scenario, const LocatedJson& written,
               const description::Strategy& defaults);

/// Whether the scenario says `path` ("strategy.weights.pool") itself.
bool says(const LocatedJson& written, const std::string& path);

}  // namespace spillway::scenarios
