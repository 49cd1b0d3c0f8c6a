#include "gui/model/validation_table.hpp"

#include "gui/model/text.hpp"
#include "gui/model/trace.hpp"
#include "reports/run/validation_report.hpp"
#include "reports/words/human.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace spillway::gui {

using nlohmann::json;

namespace {

/// The number at a dotted path.
std::optional<double> number_at(const json& object, const std::string& path) {
  const json* at = &object;
  std::size_t from = 0;
  while (true) {
    const std::size_t dot = path.find('.', from);
    const std::string key = path.substr(from, dot == std::string::npos ? dot : dot - from);
    if (!at->is_object() || !at->contains(key)) return std::nullopt;
    at = &(*at)[key];
    if (dot == std::string::npos) break;
    from = dot + 1;
  }
  return at->is_number() ? std::optional<double>(at->get<double>()) : std::nullopt;
}

QString value_text(const std::string& path, double value) {
  if (path.ends_with("_s")) return qt(reports::human_time(value));
  const bool memory = path.find("peak_bytes.gpu") == 0 || path.find("peak_bytes.host") == 0;
  if (memory) return qt(reports::human_memory(static_cast<std::uint64_t>(std::max(0.0, value))));
  return path.find("bytes") != std::string::npos ? qt(reports::human_bytes(value))
                                                 : qt(reports::human_number(value));
}

}  // namespace

void put_validation(const json& validation, TextTable& table) {
  std::vector<std::vector<Cell>> rows;
  const json errors =
      validation.is_object() ? validation.value("errors", json::object()) : json::object();
  if (errors.is_object())
    for (const auto& [path, error] : errors.items()) {
      if (!error.is_number()) continue;
      const json none = json::object();
      const auto predicted = number_at(validation.value("predicted", none), path);
      const auto measured = number_at(validation.value("measured", none), path);
      const double share = error.get<double>();
      Cell cell = number_cell(qt(reports::human_change(share)), share);
      cell.mood = std::abs(share) <= 0.1 ? Cell::Mood::good : Cell::Mood::bad;
      rows.push_back(
          {text_cell(qt(reports::compared_words(path)), qt(path)),
           predicted ? number_cell(value_text(path, *predicted), *predicted) : text_cell("-"),
           measured ? number_cell(value_text(path, *measured), *measured) : text_cell("-"), cell});
    }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::abs(a[3].number) > std::abs(b[3].number);
  });
  table.set({"Number", "Predicted", "Measured", "Error"}, std::move(rows));
}

bool is_of(const json& validation, const Trace& trace) {
  if (!validation.is_object()) return false;
  for (const std::string side : {"measured", "predicted"}) {
    Instant end = 0;
    bool there = false;
    for (const Track& track : trace.tracks) {
      if (!track.process.starts_with(side + " ")) continue;
      there = true;
      for (const Lane& lane : track.lanes)
        if (!lane.slices.empty()) end = std::max(end, lane.slices.back().end);
    }
    constexpr double most_of_a_step = 0.9;  // a mean of steps, of which the shortest may be alone
    const auto step_s = number_at(validation, side + ".step_time_s");
    if (!there || (step_s && seconds(end) < most_of_a_step * *step_s)) return false;
  }
  return true;
}

QStringList words_in(const json& object, const char* key) {
  QStringList words;
  if (!object.is_object() || !object.contains(key) || !object[key].is_array()) return words;
  for (const json& one : object[key])
    if (one.is_string()) words << qt(one.get<std::string>());
  return words;
}

}  // namespace spillway::gui
