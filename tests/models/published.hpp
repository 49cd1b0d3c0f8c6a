#pragma once

#include <cctype>
#include <cstdint>
#include <string>

namespace spillway::models {

/// A shipped model and the parameters that its publisher states.
struct Published {
  const char* name;
  std::uint64_t parameters;
};

/// A test may have letters and digits in its name.
inline constexpr auto test_name = [](const auto& row) {
  std::string name = row.param.name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
};

}  // namespace spillway::models
