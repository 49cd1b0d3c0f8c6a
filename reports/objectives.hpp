#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace spillway::reports {

/// What a table calls a number of a result: "tokens/s", or its path.
std::string objective_title(const std::string& path);

/// A number of a result, by what its path says of it.
std::string human_value(const std::string& path, const nlohmann::json& value);

}  // namespace spillway::reports
