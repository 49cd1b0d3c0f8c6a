#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace spillway::reports {

/// `value` as Python's pickle of protocol 2: dicts, lists, str, int, float, bool and None.
std::string pickled(const nlohmann::json& value);

}  // namespace spillway::reports
