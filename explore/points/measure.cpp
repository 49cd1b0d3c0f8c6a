#include "explore/points/measure.hpp"

#include "explore/expressions/dotted_path.hpp"
#include "explore/points/reasons.hpp"
#include "scenarios/json/schema_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace spillway::explore {

using description::Complaint;
using nlohmann::json;

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Numbers that every row has, whatever the space asks for.
constexpr const char* always[] = {"feasible",
                                  "step_time_s",
                                  "throughput.tokens_per_s",
                                  "price_usd",
                                  "wear.lifetime_years",
                                  "peak_bytes.gpu.total",
                                  "peak_bytes.host.total",
                                  "peak_bytes.ssd.total"};

/// What goes with a lifetime; rows of an older program do without.
constexpr const char* beside_a_lifetime[] = {"wear.warranty_years", "wear.waf"};

/// What only some results have.
const std::set<std::string> rare = {"plan", "io_bench", "optimizer_states", "checkpoint"};

/// A result with everything in it that a result may have.
const json& sample() {
  static const json whole = [] {
    result::Result result;
    result.wear.emplace();
    result.price_usd = 0;
    json all = result;
    all.erase("scenario");
    return all;
  }();
  return whole;
}

/// Paths of the numbers below `value`.
void add_paths(const json& value, const std::string& path, std::vector<std::string>& paths) {
  if (!value.is_object()) return paths.push_back(path);
  for (const auto& [key, child] : value.items())
    add_paths(child, path.empty() ? key : path + "." + key, paths);
}

/// What to write instead of a path that no result has.
std::string hint_for(const std::string& path, const char* otherwise) {
  std::vector<std::string> known;
  add_paths(sample(), "", known);
  const std::string near = description::nearest_name(path, known);
  return near.empty() ? otherwise : "did you mean \"" + near + "\"?";
}

}  // namespace

bool result_has(const std::string& path) {
  const json* at = &sample();
  for (std::string rest = path; !rest.empty(); rest = tail_of(rest)) {
    const std::string step = head_of(rest);
    if (at == &sample() && rare.contains(step)) return true;
    if (!at->is_object() || !at->contains(step)) return false;
    at = &(*at)[step];
    if (result::is_sparse(step)) return !tail_of(rest).empty();
  }
  return at->is_number() || at->is_boolean() || at->is_null();
}

Measures::Measures(const Points& points) {
  std::vector<Complaint> complaints;
  const scenarios::Space& space = points.space();
  for (const scenarios::Condition& condition : space.constraints)
    add_constraint(condition, points, complaints);
  for (const scenarios::Objective& objective : space.objectives) {
    goals_.push_back({objective.path, objective.smaller});
    asked_.push_back(objective.path);
    if (!result_has(objective.path))
      complaints.push_back({objective.place.file, objective.place.line, objective.place.column,
                            "objectives." + objective.path, "no result has such a number",
                            hint_for(objective.path,
                                     "name one such as step_time_s, price_usd, "
                                     "throughput.tokens_per_s")});
  }
  for (const char* path : always) asked_.emplace_back(path);
  std::sort(asked_.begin(), asked_.end());
  asked_.erase(std::unique(asked_.begin(), asked_.end()), asked_.end());
  if (complaints.empty()) return;
  scenarios::tidy(complaints);
  throw description::ScenarioError(complaints);
}

void Measures::add_constraint(const scenarios::Condition& condition, const Points& points,
                              std::vector<Complaint>& complaints) {
  const scenarios::Place& place = condition.place;
  const auto complain = [&](const std::string& message, const std::string& hint) {
    complaints.push_back({place.file, place.line, place.column, "constraints", message, hint});
  };
  try {
    Constraint constraint{condition.text, Expression(condition.text), {}};
    for (const std::string& name : constraint.expression.names()) {
      if (result_has(name)) {
        constraint.names.push_back({name, std::nullopt});
        asked_.push_back(name);
      } else if (auto source = points.source_of(name)) {
        constraint.names.push_back({name, std::move(source)});
      } else {
        complain("no number \"" + name + "\" in a result or the scenario",
                 hint_for(name, "name one such as feasible, price_usd, wear.lifetime_years"));
        return;
      }
    }
    constraints_.push_back(std::move(constraint));
  } catch (const ExpressionError& error) {
    complain(std::string(error.what()) + " at character " + std::to_string(error.column()), "");
  }
}

ScenarioRow Measures::row_of(const Outcome& outcome, double seconds) const {
  ScenarioRow row{"fits", "", json::object(), seconds};
  if (!outcome.result) {
    row.verdict = outcome.answered() ? "refused" : "failed";
    row.reason = outcome.failure;
    for (const Complaint& complaint : outcome.complaints)
      row.reason += (row.reason.empty() ? "" : "; ") + to_string(complaint);
    return row;
  }
  json result = *outcome.result;
  if (outcome.result->infeasible) {
    row.verdict = "infeasible";
    keep_reason(row, no_room(*outcome.result));
  }
  // what does not fit has no peaks: a need would look like one
  const bool fits = outcome.result->feasible();
  for (const std::string& path : asked_)
    row.numbers[path] =
        stored(fits || !path.starts_with("peak_bytes.") ? number_in(result, path) : none);
  for (const char* path : beside_a_lifetime) row.numbers[path] = stored(number_in(result, path));
  row.numbers["bottleneck.resource"] = outcome.result->bottleneck;
  return row;
}

bool Measures::complete(const ScenarioRow& row) const {
  if (row.verdict == "failed") return false;  // why it could not be simulated may be over
  return row.verdict != "fits" ||
         std::all_of(asked_.begin(), asked_.end(),
                     [&](const std::string& path) { return row.numbers.contains(path); });
}

Judgement Measures::judge(const ScenarioRow& row, const Coordinates& at) const {
  Judgement judgement{row.verdict, row.reason, json::object(), {}};
  if (row.verdict != "fits") return judgement;
  judgement.verdict = "accepted";
  for (const Constraint& constraint : constraints_) {
    std::vector<double> values;
    std::string missing;
    for (const Name& name : constraint.names) {
      values.push_back(name.source ? name.source->of(at) : from_stored(row.numbers.at(name.path)));
      if (std::isnan(values.back())) missing = name.path;
    }
    const double holds = constraint.expression(values);
    if (missing.empty() && holds != 0 && !std::isnan(holds)) continue;
    judgement.verdict = "rejected";
    judgement.reason = missing.empty()
                           ? words(not_met(constraint.text, constraint.expression.names(), values))
                           : missing + " has no value";
    break;
  }
  for (const Goal& goal : goals_) {
    const double value = from_stored(row.numbers.at(goal.path));
    judgement.objectives[goal.path] = stored(value);
    if (std::isnan(value) && judgement.verdict == "accepted") {
      judgement.verdict = "rejected";
      judgement.reason = goal.path + " has no value";
    }
    judgement.costs.push_back(goal.smaller ? value : -value);
  }
  if (judgement.verdict != "accepted") judgement.costs.clear();
  return judgement;
}

}  // namespace spillway::explore
