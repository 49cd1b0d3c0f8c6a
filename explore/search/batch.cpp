#include "explore/search/batch.hpp"

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

Batch::Batch(const Points& points, const Measures& measures, Store& store, WorkerPool& workers)
    : points_(points), store_(store), workers_(workers), resolver_(points, measures, store) {}

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
  const ScenarioRow row = resolver_.record(candidates[delivery.number], delivery);
  if (delivery.outcome.result) results_[key] = *delivery.outcome.result;
  ++counts.simulated;
  for (const std::size_t i : same_.at(key)) {
    resolver_.judge(candidates[i], all[i], row);
    ++known_;
    counts.failed += row.verdict == "failed";
    counts.refused += row.verdict == "refused";
    store_.put(resolver_.space(), candidates[i].row);
  }
}

std::vector<Delivery> Batch::collect() {
  try {
    return workers_.collect(look_every_s);
  } catch (const description::DeviceError&) {
    commit();  // no worker is left: what they found is kept
    throw;
  }
}

/// False when it was ended before everything was delivered.
bool Batch::deliver(std::span<const Coordinates> all, std::vector<Candidate>& candidates,
                    Counts& counts, const std::function<bool()>& over) {
  for (const Delivery& delivery : collect()) take(delivery, all, candidates, counts);
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
    candidates[i] = resolver_.resolve(all[i], counts);
    known_ += candidates[i].known;
    if (candidates[i].known) continue;
    auto& same = same_[candidates[i].row.key];
    same.push_back(i);
    if (same.size() > 1) continue;
    workers_.send(i, candidates[i].scenario);
    if (workers_.pending() >= 2 * workers_.jobs()) going = deliver(all, candidates, counts, over);
    while (going && workers_.pending() >= 2 * workers_.jobs())
      going = deliver(all, candidates, counts, over);
  }
  while (going && workers_.pending() > 0) going = deliver(all, candidates, counts, over);
  if (!going) workers_.forget();
  costs_.clear();
  for (const Candidate& candidate : candidates) costs_.push_back(candidate.judgement.costs);
  put_on_front(candidates, front);
  commit();
  return going;
}

void Batch::put_on_front(std::vector<Candidate>& candidates, Front& front) {
  for (Candidate& candidate : candidates) {
    const auto result = results_.find(candidate.row.key);
    resolver_.put_on_front(candidate, front, result == results_.end() ? nullptr : &result->second);
  }
}

bool Batch::complete_front(const Front& front, const std::function<bool()>& over) {
  std::vector<FrontPoint> missing;
  for (const FrontPoint& point : front.points())
    if (!store_.has_result(point.key)) missing.push_back(point);
  for (std::size_t i = 0; i < missing.size(); ++i)
    workers_.send(i, resolver_.scenario(points_.at(missing[i].number)));
  while (workers_.pending() > 0 && !over())
    for (const Delivery& delivery : collect())
      if (delivery.outcome.result)
        store_.put_result(missing[delivery.number].key, *delivery.outcome.result);
  store_.commit();
  return workers_.pending() == 0;
}

}  // namespace spillway::explore
