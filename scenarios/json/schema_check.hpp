#pragma once

#include "scenarios/description/errors.hpp"
#include "scenarios/json/located_json.hpp"

#include <string>
#include <vector>

namespace spillway::scenarios {

/// The shipped draft-07 schema `name` ("scenario", "machine", "strategy", "preset"), references
/// filled in. Ours are `format`, which names a quantity, `x-words`, words that may stand for a
/// value, `x-retired`, why a key is no setting any more, and for the list of settings `x-systems`
/// and `x-deepspeed`.
const nlohmann::json& schema(const std::string& name);

/// Everything in `document` that the schema refuses, in the order of the text: unknown keys with
/// the nearest known one, wrong types, words and bounds, missing keys, quantities without their
/// unit.
///   Path  dotted, behind `prefix` ("machine." for a machine inside a scenario)
std::vector<description::Complaint> check_schema(const LocatedJson& document,
                                                 const std::string& schema_name,
                                                 const std::string& prefix = "");

/// `no "ssdd"`; did you mean "ssd"? known: gpu, host, ssd.
description::Complaint unknown_name(const Place& place, const std::string& path,
                                    const std::string& name, const std::vector<std::string>& known);

/// Sorts by place and drops what is said twice.
void tidy(std::vector<description::Complaint>& complaints);

}  // namespace spillway::scenarios
