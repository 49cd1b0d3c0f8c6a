#pragma once

#include <string>

namespace spillway::explore {

/// The first name of a dotted path, and what follows it: "wear" and "lifetime_years".
inline std::string head_of(const std::string& path) { return path.substr(0, path.find('.')); }
inline std::string tail_of(const std::string& path) {
  const std::size_t dot = path.find('.');
  return dot == std::string::npos ? "" : path.substr(dot + 1);
}

}  // namespace spillway::explore
