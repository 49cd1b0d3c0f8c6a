#include "explore/batch.hpp"

#include "explore/scenario_key.hpp"
#include "strategies/catalogue.hpp"

#include <chrono>

namespace spillway::explore {

using nlohmann::json;

namespace {

constexpr double commit_every_s = 0.05;  ///< rows wait in memory for at most 100 ms
constexpr double look_every_s = 0.02;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Batch::Batch(const Points& points, const Measures& measures, Store& store, Nursery& nursery)
    : points_(points), measures_(measures), store_(store), nursery_(nursery) {}

void Batch::judge(Candidate& candidate, const Coordinates& at, const ScenarioRow& row) {
  candidate.judgement = measures_.judge(row, at);
  candidate.row.verdict = candidate.judgement.verdict;
  candidate.row.reason = candidate.judgement.reason;
  candidate.row.objectives = candidate.judgement.objectives;
  candidate.known = true;
  ++known_;
}

/// Whether the database knows the point, from an earlier run over the same space.
bool Batch::recall(Candidate& candidate, const Coordinates& at, Counts& counts) {
  const auto row = store_.point(space_, candidate.row.number);
  if (!row || row->verdict == "refused") return false;
  const auto scenario = store_.find(row->key);
  if (!scenario || !measures_.complete(*scenario)) return false;
  candidate.row = *row;
  judge(candidate, at, *scenario);
  ++counts.reused;
  return true;
}

Batch::Candidate Batch::resolve(const Coordinates& at, Counts& counts) {
  Candidate candidate;
  candidate.row.number = points_.number(at);
  candidate.row.objectives = json::object();
  if (recall(candidate, at, counts)) return candidate;
  candidate.row.point = points_.shown(at);
  try {
    const description::Scenario scenario =
        scenarios::read_scenario(points_.space().base, points_.overrides(at), systems_,
                                 strategies::unsupported)
            .scenario;
    candidate.row.key = scenario_key(scenario);
    candidate.scenario = scenario;
  } catch (const description::ScenarioError& error) {
    const description::Complaint& first = error.complaints().front();
    candidate.row.verdict = "refused";
    candidate.row.reason = first.path + ": " + first.message;
    candidate.known = true;
    ++known_;
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

void Batch::commit() {
  store_.commit();
  kept_ = known_;
}

void Batch::commit_when_due() {
  const double now = now_s();
  if (!store_.writing()) last_commit_s_ = now;
  if (now - last_commit_s_ < commit_every_s) return;
  commit();
  last_commit_s_ = now;
}

void Batch::take(const Delivery& delivery, std::span<const Coordinates> all,
                 std::vector<Candidate>& candidates, Counts& counts) {
  const std::string key = candidates[delivery.number].row.key;
  const ScenarioRow row = measures_.row_of(delivery.outcome, delivery.seconds);
  store_.put(key, row);
  if (delivery.outcome.result) results_[key] = *delivery.outcome.result;
  if (row.verdict == "failed")
    store_.put_result(
        key, {{"failure", row.reason}, {"scenario", candidates[delivery.number].scenario}});
  ++counts.simulated;
  for (const std::size_t i : same_.at(key)) {
    judge(candidates[i], all[i], row);
    counts.failed += row.verdict == "failed";
    store_.put(space_, candidates[i].row);
  }
}

/// False when it was ended before everything was delivered.
bool Batch::deliver(std::span<const Coordinates> all, std::vector<Candidate>& candidates,
                    Counts& counts, const std::function<bool()>& over) {
  for (const Delivery& delivery : nursery_.collect(look_every_s))
    take(delivery, all, candidates, counts);
  commit_when_due();
  return !over();
}

bool Batch::run(std::span<const Coordinates> all, Front& front, Counts& counts,
                const std::function<bool()>& over) {
  same_.clear();
  results_.clear();
  std::vector<Candidate> candidates(all.size());
  bool going = !over();
  for (std::size_t i = 0; i < all.size() && going; ++i) {
    candidates[i] = resolve(all[i], counts);
    if (candidates[i].known) continue;
    auto& same = same_[candidates[i].row.key];
    same.push_back(i);
    if (same.size() > 1) continue;
    nursery_.send(i, candidates[i].scenario);
    if (nursery_.pending() >= 2 * nursery_.jobs()) going = deliver(all, candidates, counts, over);
    while (going && nursery_.pending() >= 2 * nursery_.jobs())
      going = deliver(all, candidates, counts, over);
  }
  while (going && nursery_.pending() > 0) going = deliver(all, candidates, counts, over);
  if (!going) nursery_.forget();
  costs_.clear();
  for (const Candidate& candidate : candidates) costs_.push_back(candidate.judgement.costs);
  put_on_front(candidates, front);
  commit();
  return going;
}

void Batch::put_on_front(std::vector<Candidate>& candidates, Front& front) {
  for (Candidate& candidate : candidates) {
    PointRow& row = candidate.row;
    if (!candidate.known || candidate.judgement.costs.empty()) continue;
    if (front.has(row.number)) continue;
    if (front.beats(candidate.judgement.costs)) {
      if (row.front) store_.set_front(space_, row.number, row.key, false);
      continue;
    }
    for (const FrontPoint& beaten :
         front.add({row.number, row.key, std::move(candidate.judgement.costs)}))
      store_.set_front(space_, beaten.number, beaten.key, false);
    store_.set_front(space_, row.number, row.key, true);
    const auto result = results_.find(row.key);
    if (result != results_.end()) store_.put_result(row.key, result->second);
  }
}

bool Batch::complete_front(const Front& front, const std::function<bool()>& over) {
  std::vector<FrontPoint> missing;
  for (const FrontPoint& point : front.points())
    if (!store_.has_result(point.key)) missing.push_back(point);
  for (std::size_t i = 0; i < missing.size(); ++i)
    nursery_.send(
        i, scenarios::read_scenario(points_.space().base,
                                    points_.overrides(points_.at(missing[i].number)), systems_)
               .scenario);
  while (nursery_.pending() > 0 && !over())
    for (const Delivery& delivery : nursery_.collect(look_every_s))
      if (delivery.outcome.result)
        store_.put_result(missing[delivery.number].key, *delivery.outcome.result);
  store_.commit();
  return nursery_.pending() == 0;
}

}  // namespace spillway::explore
