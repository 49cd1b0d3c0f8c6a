#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace spillway::scenarios {

/// JSON as profilers write it, made JSON: inside strings bytes that are no UTF-8 become "?",
/// control characters a space and the backslash of no escape (a path of Windows) "/"; outside them
/// NaN and the infinities become null. What is JSON stays as it is; lines keep their numbers
/// outside strings.
std::string mended(const std::string& text);

/// Calls `each` with every event of a trace and its number, in order; of a file of gigabytes one
/// event at a time is in memory.
///   Result  false: there is no list of events
///   Throws  ScenarioError with line and column of what is no JSON; what `each` throws
bool for_each_event(const std::string& text, const std::string& file,
                    const std::function<void(const nlohmann::json&, std::size_t)>& each);

/// All of a JSON file of a profiler.
nlohmann::json parse_profile(const std::string& text, const std::string& file);

}  // namespace spillway::scenarios
