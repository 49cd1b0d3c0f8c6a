#include "explore/search/resolver.hpp"

#include "explore/points/scenario_key.hpp"

namespace spillway::explore {

using nlohmann::json;

Resolver::Resolver(const Points& points, const Measures& measures, Store& store)
    : points_(points), measures_(measures), store_(store) {}

void Resolver::judge(Candidate& candidate, const Coordinates& at, ScenarioRow row) const {
  candidate.judgement = measures_.judge(row, at);
  candidate.row.verdict = candidate.judgement.verdict;
  candidate.row.reason = candidate.judgement.reason;
  candidate.row.objectives = candidate.judgement.objectives;
  candidate.outcome = std::move(row);
  candidate.known = true;
}

bool Resolver::recall(Candidate& candidate, const Coordinates& at, Counts& counts) {
  const auto row = store_.point(space_, candidate.row.number);
  if (!row || row->verdict == "refused") return false;
  const auto scenario = store_.find(row->key);
  if (!scenario || !measures_.complete(*scenario)) return false;
  candidate.row = *row;
  judge(candidate, at, *scenario);
  ++counts.reused;
  return true;
}

ScenarioRow Resolver::record(const Candidate& candidate, const Delivery& delivery) {
  ScenarioRow row = measures_.row_of(delivery.outcome, delivery.seconds);
  if (const auto before = store_.find(candidate.row.key); before && before->verdict == "failed")
    store_.drop_result(candidate.row.key);  // it says why
  store_.put(candidate.row.key, row);
  if (row.verdict == "failed")
    store_.put_result(candidate.row.key,
                      {{"failure", row.reason}, {"scenario", candidate.scenario}});
  return row;
}

void Resolver::put_on_front(Candidate& candidate, Front& front, const json* result) {
  PointRow& row = candidate.row;
  if (!candidate.known || candidate.judgement.costs.empty() || front.has(row.number)) return;
  if (front.beats(candidate.judgement.costs)) {
    if (row.front) store_.set_front(space_, row.number, row.key, false);
    return;
  }
  for (const FrontPoint& beaten : front.add({row.number, row.key, candidate.judgement.costs}))
    store_.set_front(space_, beaten.number, beaten.key, false);
  store_.set_front(space_, row.number, row.key, true);
  if (result) store_.put_result(row.key, *result);
}

description::Scenario Resolver::scenario(const Coordinates& at) const {
  return scenarios::read_scenario(points_.space().base, points_.overrides(at), systems_,
                                  scenarios::Refuse::what_cannot_run)
      .scenario;
}

Candidate Resolver::resolve(const Coordinates& at, Counts& counts) {
  Candidate candidate;
  candidate.row.number = points_.number(at);
  candidate.row.objectives = json::object();
  if (recall(candidate, at, counts)) return candidate;
  candidate.row.point = points_.shown(at);
  try {
    const description::Scenario resolved = scenario(at);
    candidate.row.key = scenario_key(resolved);
    candidate.scenario = resolved;
  } catch (const description::ScenarioError& error) {
    const description::Complaint& first = error.complaints().front();
    candidate.row.verdict = "refused";
    candidate.row.reason = first.path + ": " + first.message;
    candidate.outcome = {"refused", candidate.row.reason, json::object(), 0};
    candidate.known = true;
    ++counts.refused;
    store_.put(space_, candidate.row);
    return candidate;
  }
  const auto row = store_.find(candidate.row.key);
  if (!row || !measures_.complete(*row)) return candidate;
  judge(candidate, at, *row);
  ++counts.reused;
  store_.put(space_, candidate.row);
  return candidate;
}

}  // namespace spillway::explore
