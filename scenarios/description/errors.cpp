#include "scenarios/description/errors.hpp"

#include "scenarios/description/bugs.hpp"
#include "scenarios/description/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>
#include <string_view>

namespace spillway::description {

std::string to_string(const Complaint& complaint) {
  std::string text = complaint.file;
  if (complaint.line > 0)
    text += ":" + std::to_string(complaint.line) + ":" + std::to_string(complaint.column);
  if (!text.empty()) text += ": ";
  if (!complaint.path.empty()) text += complaint.path + ": ";
  text += complaint.message;
  if (!complaint.hint.empty()) text += "; " + complaint.hint;
  return text;
}

namespace {
std::string all_lines(const std::vector<Complaint>& complaints) {
  std::string text;
  for (const Complaint& complaint : complaints)
    text += (text.empty() ? "" : "\n") + to_string(complaint);
  return text;
}
}  // namespace

ScenarioError::ScenarioError(std::vector<Complaint> complaints)
    : std::runtime_error(all_lines(complaints)), complaints_(std::move(complaints)) {}

void refuse(const std::string& path, std::string message, std::string hint) {
  throw ScenarioError({{"command line", 0, 0, path, std::move(message), std::move(hint)}});
}

namespace {

constexpr const char* bug_words = "a bug of spillway: ";

}  // namespace

std::string as_bug(const std::string& error) { return is_bug(error) ? error : bug_words + error; }

bool is_bug(const std::string& text) { return text.starts_with(bug_words); }

void fail_ensure(const char* condition, const std::string& what, std::source_location where) {
  throw InternalError(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " +
                      what + " (" + condition + ")");
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = name.size() / 3 + 2;
  for (const std::string& candidate : candidates) {
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < name.size(); ++i) {
      std::size_t diagonal = row[0]++;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t replaced = diagonal + (name[i] != candidate[j]);
        diagonal = row[j + 1];
        row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
      }
    }
    if (row.back() < best_distance) best_distance = row.back(), best = candidate;
  }
  return best;
}

std::string no_such_name(const std::string& name) { return "no " + shortened(json_text(name)); }

std::string known_names(const std::string& name, const std::vector<std::string>& known) {
  std::string near = nearest_name(name, known);
  for (const std::string& one : known)  // "adam_fused" begins with "adam"
    if (near.empty() && one.size() >= 3 && name.starts_with(one)) near = one;
  const std::string hint = near.empty() ? "" : "did you mean \"" + near + "\"? ";
  return hint + fmt::format("known: {}", fmt::join(known, ", "));
}

}  // namespace spillway::description
