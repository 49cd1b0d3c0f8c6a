#include "gui/model/named.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document/hub_names.hpp"
#include "scenarios/document/part_catalogue.hpp"
#include "scenarios/json/shipped.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

namespace spillway::gui {

namespace {

constexpr std::size_t most_named = 4;

std::string trimmed_lower(const std::string& text) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::size_t from = lower.find_first_not_of(' ');
  if (from == std::string::npos) return "";
  return lower.substr(from, lower.find_last_not_of(' ') - from + 1);
}

Named part_named(scenarios::PartKind kind, const std::string& text) {
  try {
    const scenarios::FoundPart found = scenarios::find_part(kind, text);
    Named named{scenarios::part_at(kind, found.index).name, std::nullopt, ""};
    if (const auto apart = scenarios::counted_name(text); apart && apart->count == found.count)
      named.count = found.count;
    return named;
  } catch (const description::ScenarioError& error) {
    const auto& first = error.complaints().front();
    return {"", std::nullopt, first.message + (first.hint.empty() ? "" : "; " + first.hint)};
  }
}

}  // namespace

Named model_named(const std::string& text) {
  const std::string wanted = trimmed_lower(text);
  const std::vector<std::string> known = scenarios::shipped_names("models/library");
  std::vector<std::string> parts;
  for (const std::string& name : known) {
    if (name == wanted) return {name, std::nullopt, ""};
    if (!wanted.empty() && name.find(wanted) != std::string::npos) parts.push_back(name);
  }
  if (const std::string hub = scenarios::shipped_model(text); !hub.empty())
    return {hub, std::nullopt, ""};
  if (parts.size() == 1) return {parts[0], std::nullopt, ""};
  if (parts.empty()) {
    const std::string near = description::nearest_name(wanted, known);
    return {"", std::nullopt,
            fmt::format("no model \"{}\"; {}", text,
                        near.empty() ? "drop its config.json on the window"
                                     : "did you mean \"" + near + "\"?")};
  }
  const bool more = parts.size() > most_named;
  if (more) parts.resize(most_named);
  return {"", std::nullopt,
          fmt::format("\"{}\" may be {}{}", text, fmt::join(parts, ", "), more ? ", ..." : "")};
}

Named card_named(const std::string& text) { return part_named(scenarios::PartKind::gpu, text); }

Named drive_in(const std::string& text) {
  const std::string wanted = trimmed_lower(text);
  if (wanted.empty() || wanted == "none" || wanted == "0") return {"", 0, ""};
  return part_named(scenarios::PartKind::drive, text);
}

std::optional<std::uint64_t> memory_gib_in(const std::string& text) {
  std::string lower = trimmed_lower(text);
  lower.erase(std::remove(lower.begin(), lower.end(), ','), lower.end());
  std::size_t digits = 0;
  while (digits < lower.size() &&
         (std::isdigit(static_cast<unsigned char>(lower[digits])) || lower[digits] == '.'))
    ++digits;
  std::string unit = lower.substr(digits);
  unit.erase(std::remove(unit.begin(), unit.end(), ' '), unit.end());
  if (digits == 0 || std::count(lower.begin(), lower.end(), '.') > 1 || lower == ".")
    return std::nullopt;
  double gib = std::stod(lower.substr(0, digits));
  if (unit == "t" || unit == "tb" || unit == "tib")
    gib *= 1024;
  else if (!unit.empty() && unit != "g" && unit != "gb" && unit != "gib")
    return std::nullopt;
  if (gib < 1 || gib > 1e9 || gib != std::floor(gib)) return std::nullopt;
  return static_cast<std::uint64_t>(gib);
}

std::optional<std::uint64_t> whole_in(const std::string& text) {
  if (trimmed_lower(text) == "0") return 0;
  const auto parsed = description::parse_count(text);
  if (!parsed.problem.empty()) return std::nullopt;
  return static_cast<std::uint64_t>(parsed.value);
}

}  // namespace spillway::gui
