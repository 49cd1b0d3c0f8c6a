#include "scenarios/evidence/formats.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace spillway::evidence {

using nlohmann::json;

void refuse_file(const std::string& file, const std::string& message, const std::string& hint) {
  throw description::ScenarioError({{file, 0, 0, "", message, hint}});
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<double> number_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + key.size());
  const std::size_t first = rest.find_first_not_of(" \t:=|\"'");
  if (first == std::string_view::npos) return {};
  std::string digits;
  for (const char letter : rest.substr(first, 40)) {
    if (letter != ',') digits += letter;
  }
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (end == digits.c_str() || !std::isfinite(value)) return {};
  return value;
}

std::string_view value_of(std::string_view line, std::string_view key) {
  const std::string_view inside = trimmed(line);
  if (!inside.starts_with(key)) return {};
  const std::string_view rest = trimmed(inside.substr(key.size()));
  return rest.starts_with(':') ? trimmed(rest.substr(1)) : std::string_view();
}

double median(std::vector<double> numbers) {
  ENSURE(!numbers.empty(), "a median of nothing");
  std::sort(numbers.begin(), numbers.end());
  const std::size_t half = numbers.size() / 2;
  return numbers.size() % 2 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
}

std::optional<double> number_of(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (found->is_number()) return found->get<double>();
  if (!found->is_string()) return {};
  return number_after("=" + found->get<std::string>(), "=");
}

std::string text_of(const json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace spillway::evidence
