#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace spillway::description {

/// Levels of lists and objects that JSON from outside may have: what reads it may be recursive.
inline constexpr std::size_t deepest_json = 64;

/// JSON, or what is wrong with the text.
struct StrictJson {
  nlohmann::json value;
  std::string problem;  ///< "" when nothing is
};

/// Reads JSON of another process or an earlier run: UTF-8, at most deepest_json levels, and no key
/// twice in an object, since readers differ in which of them counts.
StrictJson parse_strictly(std::string_view text);

}  // namespace spillway::description
