#pragma once

#include "reports/text/text.hpp"

#include <string>
#include <vector>

namespace spillway::text {

/// As people read them.
inline std::vector<std::string> words_of(const std::vector<Text>& texts) {
  std::vector<std::string> all;
  for (const Text& text : texts) all.push_back(words(text));
  return all;
}

}  // namespace spillway::text
