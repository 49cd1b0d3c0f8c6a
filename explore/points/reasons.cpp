#include "explore/points/reasons.hpp"

#include "explore/expressions/expression.hpp"
#include "reports/result/needs.hpp"
#include "reports/text/text_json.hpp"

#include <cmath>
#include <limits>

namespace spillway::explore {

using nlohmann::json;

namespace {

constexpr const char* reason_name = "reason";
constexpr const char* reason_numbers = "reason_numbers";
const std::string no = "not ";

/// In the units that a tier is sold in.
text::Number amount(const std::string& tier, std::uint64_t bytes) {
  const bool memory = tier == "gpu" || tier == "host";
  return memory ? text::memory(bytes) : text::bytes(static_cast<double>(bytes));
}

std::string tier_words(const std::string& tier) {
  if (tier == "gpu") return "GPU memory";
  if (tier == "host") return "host memory";
  return tier == "ssd" ? "drives" : tier;
}

/// ", 3.00 MiB short" where it would not show else.
text::Text short_by(const std::string& tier, std::uint64_t asked, std::uint64_t has) {
  const bool shows = words(amount(tier, asked)) != words(amount(tier, has));
  return asked <= has || shows ? text::Text()
                               : text::filled(", {} short", {amount(tier, asked - has)});
}

}  // namespace

text::Text no_room(const result::Infeasible& infeasible) {
  const std::uint64_t asked = infeasible.asked_bytes, free = infeasible.free_bytes;
  const std::string& tier = infeasible.tier;
  const text::Text reason =
      text::filled("{}: {} in {} asks for {}, {} of {} are free",
                   {tier_words(tier), infeasible.purpose, infeasible.phase, amount(tier, asked),
                    amount(tier, free), amount(tier, infeasible.capacity_bytes)});
  if (asked <= free) return reason + ", too few once rounded up or in one piece";
  return reason + short_by(tier, asked, free);
}

text::Text too_much(const std::string& tier, std::uint64_t needed, std::uint64_t has) {
  return text::filled("{} of {} of {}",
                      {amount(tier, needed), amount(tier, has), tier_words(tier)}) +
         short_by(tier, needed, has);
}

text::Text no_room(const result::Result& result) {
  const result::Infeasible& first = result.infeasible.value();
  std::vector<text::Text> needs;
  for (const result::TierNeed& need : result::shortages_of(result))
    needs.push_back(too_much(need.tier, need.needed, need.capacity));
  if (needs.empty()) return no_room(first);
  return text::filled("needs {}; first {} in {}",
                      {text::joined(needs, ", "), first.purpose, first.phase});
}

text::Text broken(const std::string& constraint, const std::vector<std::string>& names,
                  std::span<const double> values) {
  if (names.empty()) return constraint;
  std::vector<text::Text> numbers;
  for (std::size_t i = 0; i < names.size(); ++i)
    numbers.push_back(
        text::filled("{} is {}", {names[i], text::number(values[i], text::Quantity::digits)}));
  return text::filled("{}: {}", {constraint, text::joined(numbers, ", ")});
}

text::Text not_met(const std::string& constraint, const std::vector<std::string>& names,
                   std::span<const double> values) {
  return no + broken(constraint, names, values);
}

void keep_reason(ScenarioRow& row, const text::Text& reason) {
  text::put(row.numbers, reason_name, reason);
  row.reason = row.numbers[reason_name];
  row.numbers.erase(reason_name);
}

text::Text reason_of(const PointRow& point, const ScenarioRow* row,
                     const std::vector<std::string>& constraints) {
  if (!row) return point.reason;
  json said = {{reason_name, point.reason}};
  if (row->numbers.contains(reason_numbers)) said[reason_numbers] = row->numbers[reason_numbers];
  if (point.verdict != "rejected") return text::take(said, reason_name);
  for (const std::string& constraint : constraints) {
    if (!point.reason.starts_with(no + constraint)) continue;
    const Expression expression(constraint);
    std::vector<double> values;
    for (const std::string& name : expression.names())
      values.push_back(from_stored(row->numbers.contains(name) ? row->numbers[name]
                                                               : point.point.value(name, json())));
    const text::Text reason = not_met(constraint, expression.names(), values);
    if (reason == point.reason) return reason;
  }
  return point.reason;
}

json stored(double number) {
  if (std::isnan(number)) return nullptr;
  if (std::isinf(number)) return number > 0 ? "never" : "-never";
  return number;
}

double from_stored(const json& number) {
  if (number.is_number()) return number.get<double>();
  return number == "never" ? std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace spillway::explore
