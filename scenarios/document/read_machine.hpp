#pragma once

#include <string>
#include <vector>

#include "scenarios/description/errors.hpp"
#include "scenarios/description/machine_file.hpp"
#include "scenarios/json/located_json.hpp"

namespace spillway::scenarios {

/// Reads a machine: a shipped name or a path.
///   Throws  ScenarioError with everything that is wrong
description::MachineFile read_machine(const std::string& name_or_path);

/// Everything wrong with a machine: the schema's complaints, or what goes beyond it (two storages
/// of one name, GPUs that are not there, a drive without a capacity). `prefix` as in check_schema.
std::vector<description::Complaint> check_machine(const LocatedJson& json,
                                                  const std::string& prefix = "");

}  // namespace spillway::scenarios
