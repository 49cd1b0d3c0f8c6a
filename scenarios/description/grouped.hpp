#pragma once

#include <string>

namespace spillway::description {

/// Digits in groups of three: "1,234,567"; a sign may stand before them.
inline std::string grouped(const std::string& digits) {
  const std::size_t sign = digits.starts_with('-') ? 1 : 0;
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > sign && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

}  // namespace spillway::description
