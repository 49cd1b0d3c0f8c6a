#pragma once

#include "scenarios/description/errors.hpp"
#include "tests/scenarios/temporary_files.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace spillway::fuzz {

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The text in two at its first zero byte; the second is empty where there is none.
inline std::pair<std::string, std::string> halves(const std::string& text) {
  const std::size_t end = text.find('\0');
  if (end == std::string::npos) return {text, ""};
  return {text.substr(0, end), text.substr(end + 1)};
}

/// A file with this content, for what reads files; the next call writes over it.
///   name  what its reader may look at: "input.json"
inline std::string file_with(const std::string& text, const std::string& name) {
  static const scenarios::TemporaryFiles files;
  return files.write(name, text);
}

/// Calls `read`, which may refuse what it reads, but has to say why.
template <class Read>
void read_or_refuse(const Read& read) {
  try {
    read();
  } catch (const description::ScenarioError& error) {
    ENSURE(!error.complaints().empty(), "a refusal without a complaint");
    for (const description::Complaint& one : error.complaints())
      ENSURE(!one.message.empty(), "a complaint without words");
  }
}

}  // namespace spillway::fuzz
