#include "reports/words/range.hpp"

#include "scenarios/description/pinned_interval.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spillway::reports {

view::Text with_range(const view::Number& number, const result::Result& result,
                      const std::string& path, double times) {
  const auto range = result.range.find(path);
  if (range == result.range.end()) return number;
  view::Number low = number, high = number;
  low.value = times * range->second.first;
  high.value = times * range->second.second;
  if (view::words(low) == view::words(high)) return number;
  return view::Text(number) + " (" + low + " to " + high + ")";
}

namespace {

/// Of 1024 draws fewer than a twentieth train more. The rate was divided by the step's time.
bool ends_at_the_answer(const result::Result& result) {
  constexpr double rounding = 1e-9;
  const auto range = result.range.find("throughput.tokens_per_s");
  return range != result.range.end() && range->second.first < range->second.second &&
         range->second.second <= result.tokens_per_s * (1 + rounding);
}

/// The machine has fitted numbers that several figures pin.
bool has_intervals(const result::Result& result) {
  const nlohmann::json::json_pointer at("/machine/sources");
  if (!result.scenario.is_object() || !result.scenario.contains(at)) return false;
  const nlohmann::json& sources = result.scenario.at(at);
  return std::any_of(sources.begin(), sources.end(), [](const nlohmann::json& source) {
    return source.is_string() && description::pinned_interval(source.get<std::string>());
  });
}

}  // namespace

std::string range_note(const result::Result& result, const result::Result* beside) {
  if (result.range.empty()) return "";
  std::string note = "Ranges hold nine of ten draws of the machine's numbers that nobody states";
  if (has_intervals(result)) note += ", and of fitted ones between what their figures ask for";
  note +=
      "; what data sheets and measurements state, and the model's own error (spillway fidelity), "
      "are not in them.";
  if (ends_at_the_answer(result) || (beside && ends_at_the_answer(*beside)))
    note +=
        " Where a range ends at the answer itself, fewer than one draw in twenty is faster: what "
        "nobody states is taken near the best that boxes reach, and many are slower.";
  return note;
}

}  // namespace spillway::reports
