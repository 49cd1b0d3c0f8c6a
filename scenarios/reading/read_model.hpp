#pragma once

#include <string>
#include <vector>

#include "models/architecture/architecture.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/json/located_json.hpp"

namespace spillway::scenarios {

/// Reads a model: a shipped name, the path of a Hugging Face config.json or of its directory.
///   Throws  ScenarioError with everything that is wrong
models::Architecture read_model(const std::string& name_or_path);

/// models::read_architecture on a config whose places are known; its complaints get lines and, in
/// front of their path, `prefix`.
///   Result  an architecture without name when `complaints` grew
models::Architecture read_config(const LocatedJson& config, const std::string& name,
                                 const std::string& prefix,
                                 std::vector<description::Complaint>& complaints);

}  // namespace spillway::scenarios
