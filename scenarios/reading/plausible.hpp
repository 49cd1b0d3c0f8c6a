#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/description/errors.hpp"
#include "scenarios/description/scenario.hpp"
#include "scenarios/json/located_json.hpp"

namespace spillway::scenarios {

/// Numbers that no machine or training has, most often a unit or a zero that slipped: each
/// complaint says the range in which an answer means something.
///   written  the scenario as a person wrote it, where the complaints stand
std::vector<description::Complaint> implausible(const description::Scenario& scenario,
                                                const LocatedJson& written);

/// Of a machine alone; paths are of a scenario: "machine.gpu.memory".
std::vector<description::Complaint> implausible(const description::MachineFile& machine);

/// Cards and drives that were made larger than the parts that they were bought as, whose prices are
/// still those of the parts, and drives without a price in a box whose cards have one. A sentence
/// each.
std::vector<std::string> doubts_of_price(const description::MachineFile& machine);

/// The most that is not refused of a count, by the path of its knob ("machine.storage.NAME.count").
///   Result  absent: its schema alone bounds it
std::optional<std::uint64_t> largest_count(std::string_view knob);

}  // namespace spillway::scenarios
