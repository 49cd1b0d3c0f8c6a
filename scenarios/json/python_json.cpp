#include "scenarios/json/python_json.hpp"

namespace spillway::scenarios {

namespace {

/// Behind the string that begins at `at`.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at < text.size() ? at + 1 : text.size();
}

/// The literal that begins at `at`; empty: none.
std::string_view literal_at(std::string_view text, std::size_t at) {
  constexpr std::string_view names[] = {"-Infinity", "Infinity", "NaN"};
  for (const std::string_view name : names)
    if (text.substr(at).starts_with(name)) return name;
  return {};
}

}  // namespace

std::string without_python_numbers(std::string_view text) {
  std::string json;
  json.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    std::string_view quote;
    if (text[at] == '"') {
      end = behind_string(text, at);
    } else if (const std::string_view name = literal_at(text, at); !name.empty()) {
      end = at + name.size();
      quote = "\"";
    }
    json.append(quote).append(text.substr(at, end - at)).append(quote);
    at = end;
  }
  return json;
}

}  // namespace spillway::scenarios
