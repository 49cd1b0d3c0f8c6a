#include "explore/fidelity/figure_value.hpp"

#include "explore/expressions/dotted_path.hpp"

#include <fmt/format.h>
#include <cmath>
#include <set>

namespace spillway::explore {

using description::Complaint;
using description::ScenarioError;
using nlohmann::json;

namespace {

Complaint at_metric(const scenarios::Figure& figure, const std::string& message,
                    const std::string& hint) {
  return {figure.metric_place.file,
          figure.metric_place.line,
          figure.metric_place.column,
          figure.id + ".metric",
          message,
          hint};
}

Expression parse(const scenarios::Figure& figure) {
  try {
    return Expression(figure.metric);
  } catch (const ExpressionError& error) {
    throw ScenarioError(
        {at_metric(figure, fmt::format("{} at character {}", error.what(), error.column()), "")});
  }
}

std::vector<std::string> keys_of(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, unused] : object.items()) keys.push_back(key);
  return keys;
}

/// What has a value in the result of a scenario that does not fit.
bool known_when_infeasible(const std::string& path) {
  const std::string first = head_of(path);
  return first == "feasible" || first == "infeasible" || first == "price_usd";
}

/// Looks up `path` in a result. Null: it has no value there.
const json* find(const scenarios::Figure& figure, const json& result, const std::string& path) {
  static const json zero = 0;
  const json* at = &result;
  bool sparse = false;  // what a result does not list there is 0
  for (std::string rest = path; !rest.empty(); rest = tail_of(rest)) {
    const std::string step = head_of(rest);
    if (at->is_null()) return at;
    if (at->is_object() && at->contains(step)) {
      at = &(*at)[step];
    } else if (sparse) {
      return &zero;
    } else if (at == &result && (step == "plan" || step == "io_bench" || step == "price_usd")) {
      static const json null;
      return &null;
    } else {
      throw ScenarioError({at_metric(
          figure, "no result has \"" + path + "\"",
          at->is_object() ? fmt::format("known: {}", fmt::join(keys_of(*at), ", ")) : "")});
    }
    sparse = sparse || step == "by_purpose" || step == "by_storage";
  }
  return at;
}

text::Text why_infeasible(const std::string& setup, const json& result) {
  const json& reason = result["infeasible"];
  return text::filled("{} does not fit: {}, {} in {}",
                      {setup, reason["tier"].get<std::string>(),
                       reason["purpose"].get<std::string>(), reason["phase"].get<std::string>()});
}

}  // namespace

Metric::Metric(const scenarios::Figure& figure) : figure_(&figure), expression_(parse(figure)) {
  std::vector<Complaint> complaints;
  std::vector<std::string> names = expression_.names();
  for (const auto& [name, unused] : figure.words) names.push_back(name);
  for (const std::string& name : names)
    if (!figure.setups.contains(head_of(name)))
      complaints.push_back(at_metric(figure, "no setup \"" + head_of(name) + "\"",
                                     "a name is <setup>.<path of a result>"));
  if (!complaints.empty()) throw ScenarioError(complaints);
}

std::optional<double> Metric::when_equal() const {
  std::set<std::string> setups;
  for (const std::string& name : expression_.names()) setups.insert(head_of(name));
  if (setups.size() < 2) return std::nullopt;
  const double value = expression_([](const std::string&) { return 1.0; });
  return std::isfinite(value) ? value : 1;
}

FigureValue Metric::operator()(const std::map<std::string, const json*>& results) const {
  FigureValue answer;
  const auto value_of = [&](const std::string& name) -> double {
    const json& result = *results.at(head_of(name));
    const std::string path = tail_of(name);
    if (!result["feasible"].get<bool>() && !known_when_infeasible(path)) {
      answer.problem = why_infeasible(head_of(name), result);
      return 0;
    }
    const json* found = find(*figure_, result, path);
    if (found->is_boolean()) return found->get<bool>() ? 1 : 0;
    if (!found->is_number()) answer.problem = name + " has no value";
    return found->is_number() ? found->get<double>() : 0;
  };
  const double value = expression_(value_of);
  if (answer.problem.empty() && !std::isfinite(value))
    answer.problem = "the metric divides by zero";
  if (!answer.problem.empty()) return answer;
  answer.value = value;
  for (const auto& [name, word] : figure_->words) {
    const json* found = find(*figure_, *results.at(head_of(name)), tail_of(name));
    if (*found != word)
      answer.problem = text::filled("{} is {}, not {}", {name, found->dump(), word});
  }
  return answer;
}

}  // namespace spillway::explore
