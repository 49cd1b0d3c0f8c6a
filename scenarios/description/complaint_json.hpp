#pragma once

#include "scenarios/description/errors.hpp"

#include <nlohmann/json_fwd.hpp>

namespace spillway::description {

/// {"file", "line", "column", "path", "message", "hint"}, as `--json` and workers print them.
void to_json(nlohmann::json& json, const Complaint& complaint);
/// Reads what to_json writes.
///   Throws  nlohmann::json::exception on a missing name or a wrong type
void from_json(const nlohmann::json& json, Complaint& complaint);

}  // namespace spillway::description
