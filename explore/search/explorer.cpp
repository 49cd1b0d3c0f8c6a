#include "explore/search/explorer.hpp"

#include "explore/evolution/evolution.hpp"
#include "explore/points/scenario_key.hpp"
#include "explore/points/sobol.hpp"
#include "explore/search/batch.hpp"
#include "explore/search/bounder.hpp"
#include "explore/search/filling.hpp"
#include "scenarios/document/document.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <thread>

namespace spillway::explore {

using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

/// Points that are looked at together: few at first, so that what follows meets a front.
constexpr std::size_t first_batch = 16;
/// Points that wait for their turn at most, those with the best bounds first.
constexpr std::size_t first_window = 64, largest_window = 8192;
/// Points after which the time is looked at.
constexpr std::uint64_t look_every = 64;
/// Between the counts that another process can read in the database.
constexpr double beat_every_s = 1;

/// A point that its bounds did not rule out.
struct Waiting {
  Coordinates at;
  std::vector<double> costs;  ///< at least these
  double rank = 0;
};

/// Orders what waits: the least costs first, each in parts of what it varies by.
void rank(std::vector<Waiting>& window) {
  const std::size_t objectives = window.empty() ? 0 : window.front().costs.size();
  for (std::size_t i = 0; i < objectives; ++i) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const Waiting& one : window)
      if (std::isfinite(one.costs[i])) {
        least = std::min(least, one.costs[i]);
        most = std::max(most, one.costs[i]);
      }
    for (Waiting& one : window)
      if (std::isfinite(one.costs[i]) && most > least)
        one.rank += (one.costs[i] - least) / (most - least);
  }
  std::stable_sort(window.begin(), window.end(),
                   [](const Waiting& a, const Waiting& b) { return a.rank < b.rank; });
}

/// Owns the search of one space.
class Explorer {
 public:
  Explorer(const Points& points, const Measures& measures, Store& store, Batch& batch,
           const ExploreOptions& options)
      : points_(points),
        options_(options),
        measures_(measures),
        store_(store),
        batch_(batch),
        bounder_(points, measures_) {}

  Exploration run() {
    begin();
    recall_front();
    switch (options_.search) {
      case Search::exhaustive:
        coarse_first(points_, bounder_.fast(), [this](const Coordinates& at) { return meet(at); });
        break;
      case Search::sobol:
        sobol_points(points_, options_.seed, options_.samples,
                     [this](const Coordinates& at) { return meet(at); });
        break;
      case Search::nsga2:
        evolve_points();
    }
    const bool whole = run_window();
    if (whole) finish_front();
    return end(whole);
  }

 private:
  void finish_front() {
    std::vector<std::uint64_t> numbers;
    for (const FrontPoint& point : front_.points()) numbers.push_back(point.number);
    store_.keep_front(space_, numbers);
    batch_.complete_front(front_, [this] {
      report();
      return halted();
    });
  }

  /// What was on the front when an earlier run ended: it prunes from the start.
  void recall_front() {
    std::vector<Coordinates> known;
    for (const PointRow& row : store_.points(space_, "front"))
      known.push_back(points_.at(row.number));
    Counts recalled;  // each will be met again
    batch_.run(known, front_, recalled, [this] {
      report();
      return over();
    });
    batch_.forget_known();
  }

  void begin() {
    space_ = store_.begin_space(row_of(points_.space()));
    batch_.begin(space_);
    store_.drop_pruned(space_);  // as many again, from a better front
    const bool all = options_.search == Search::exhaustive;
    const std::uint64_t looked_at =
        all ? points_.count() : std::min(options_.samples, points_.count());
    store_.begin_run(space_, host_name(), ::getpid(),
                     options_.points ? options_.points : looked_at);
    store_.commit();
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool over() const { return halted() || (options_.budget_s > 0 && seconds() > options_.budget_s); }
  bool halted() const { return options_.stop(); }

  /// Looks at a point and, now and then, at the clock. False when time is over.
  bool meet(const Coordinates& at) {
    if (shard_of(points_.number(at), options_.shards) != options_.shard) return true;
    if (++counts_.points % look_every == 0) {
      report();
      cut_ = over();
      if (cut_) return false;
    }
    return take(at);
  }

  void evolve_points() {
    EvolutionTask task;
    for (const scenarios::Axis& axis : points_.space().axes)
      task.sizes.push_back(static_cast<std::uint32_t>(axis.values.size()));
    task.objectives = measures_.goals().size();
    task.seed = options_.seed;
    task.generations = std::max<std::uint64_t>(1, options_.samples / task.population) - 1;
    evolve(task, [this](const std::vector<EvolvedPoint>& points) { return evaluate(points); });
  }

  /// Costs of a generation; what an earlier one had is remembered.
  std::vector<std::vector<double>> evaluate(const std::vector<EvolvedPoint>& generation) {
    std::vector<Coordinates> fresh;
    for (const Coordinates& at : generation) {
      const auto [known, added] = evolved_.try_emplace(points_.number(at));
      if (!added || !points_.allowed(at)) continue;
      ++counts_.points;
      const PointBound* bound = options_.prune ? bounder_.of(at) : nullptr;
      counts_.bounded += bound != nullptr;
      if (bound && bound->hopeless)
        rule_out(at, *bound);
      else
        fresh.push_back(at);
    }
    if (!cut_ && !fresh.empty()) {
      run_batch(fresh);
      for (std::size_t i = 0; i < fresh.size(); ++i)
        evolved_[points_.number(fresh[i])] = batch_.costs()[i];
    }
    std::vector<std::vector<double>> costs;
    for (const Coordinates& at : generation) {
      costs.push_back(evolved_.at(points_.number(at)));
      costs.back().resize(measures_.goals().size(), rejected_cost);
      for (double& cost : costs.back()) cost = std::clamp(cost, -rejected_cost, rejected_cost);
    }
    return costs;
  }

  /// False when time is over or somebody stops it.
  bool take(const Coordinates& at) {
    std::vector<double> costs;
    if (options_.prune) {
      if (const PointBound* bound = bounder_.of(at)) {
        ++counts_.bounded;
        if (bound->hopeless) {
          rule_out(at, *bound);
          return true;
        }
        if (front_.beats(bound->costs)) {
          overtake(at);
          return true;
        }
        costs = bound->costs;
      }
    }
    costs.resize(measures_.goals().size(), -std::numeric_limits<double>::infinity());
    window_.push_back({at, std::move(costs), 0});
    return window_.size() < window_size_ || run_window();
  }

  void prune(std::uint64_t number) {
    ++counts_.pruned;
    pruned_.push_back(number);
    if (pruned_.size() >= most_pruned) put_pruned();
  }

  /// It cannot fulfil the constraints.
  void rule_out(const Coordinates& at, const PointBound& bound) {
    RuledOut& kind = kind_of(1 + bound.constraint, at);
    if (++kind.points == 1) kind.reason = bounder_.why_hopeless();
    prune(points_.number(at));
  }

  /// It is no better than the front.
  void overtake(const Coordinates& at) {
    RuledOut& kind = kind_of(0, at);
    if (++kind.points == 1) kind.reason = "at its bounds it is no better than the front";
    prune(points_.number(at));
  }

  RuledOut& kind_of(std::size_t kind, const Coordinates& at) {
    if (kind >= ruled_out_.size()) ruled_out_.resize(kind + 1);
    RuledOut& known = ruled_out_[kind];
    if (known.points == 0) {
      known.number = points_.number(at);
      known.point = points_.shown(at);
    }
    return known;
  }

  /// As ranges of numbers.
  void put_pruned() {
    std::sort(pruned_.begin(), pruned_.end());
    for (std::size_t i = 0, next; i < pruned_.size(); i = next) {
      for (next = i + 1; next < pruned_.size() && pruned_[next] == pruned_[next - 1] + 1;) ++next;
      store_.put_pruned(space_, pruned_[i], pruned_[next - 1]);
    }
    pruned_.clear();
    for (std::size_t kind = 0; kind < ruled_out_.size(); ++kind)
      if (ruled_out_[kind].points > 0) store_.put_ruled_out(space_, kind, ruled_out_[kind]);
  }

  /// The points of the window in batches, without those that the front has overtaken meanwhile.
  bool run_window() {
    rank(window_);
    std::vector<Coordinates> batch;
    for (std::size_t i = 0; i < window_.size() && !cut_;) {
      batch.clear();
      for (; i < window_.size() && batch.size() < size_; ++i)
        if (front_.beats(window_[i].costs))
          overtake(window_[i].at);
        else
          batch.push_back(std::move(window_[i].at));
      run_batch(batch);
    }
    window_.clear();
    window_size_ = std::min(2 * window_size_, largest_window);
    put_pruned();
    return !cut_;
  }

  void run_batch(std::span<const Coordinates> batch) {
    cut_ = !batch_.run(batch, front_, counts_, [this] {
      report();
      return over();
    });
    size_ = std::min(2 * size_, batch_.batch_size());
  }

  std::uint64_t done() const { return counts_.pruned + batch_.known(); }

  void report() {
    options_.progress({counts_, done(), batch_.kept(), seconds(), &front_});
    if (seconds() - beat_s_ < beat_every_s) return;
    beat_s_ = seconds();
    store_.put_counts(space_, counts_, false);
    store_.beat(space_, done(), false);
    store_.commit();
  }

  Exploration end(bool whole) {
    put_pruned();
    // what could not be simulated is not known, and tried again by the next run
    store_.put_counts(space_, counts_, whole && counts_.failed == 0);
    store_.beat(space_, done(), true);
    store_.commit();
    beat_s_ = std::numeric_limits<double>::infinity();
    report();
    return {space_, counts_, whole, halted(), seconds()};
  }

  const Points& points_;
  const ExploreOptions& options_;
  const Measures& measures_;
  Store& store_;
  Batch& batch_;
  Bounder bounder_;
  Front front_;
  Counts counts_;
  std::int64_t space_ = 0;
  static constexpr std::size_t most_pruned = 65536;  ///< that wait to be written
  std::vector<std::uint64_t> pruned_;
  std::vector<RuledOut> ruled_out_;  ///< by reason: the front, room, each constraint
  std::vector<Waiting> window_;
  std::map<std::uint64_t, std::vector<double>> evolved_;  ///< costs by number; empty: rejected
  std::size_t size_ = first_batch, window_size_ = first_window;
  bool cut_ = false;   ///< before everything was looked at
  double beat_s_ = 0;  ///< when it said last that it is there
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

SpaceRow row_of(const scenarios::Space& space) {
  json asks = {{"name", space.name}, {"base", space.base.value}};
  for (const scenarios::Axis& axis : space.axes) {
    json values = json::array();
    for (const scenarios::AxisValue& value : axis.values)
      values.push_back({value.shown, value.overrides});
    asks["axes"].push_back({axis.name, values});
  }
  for (const scenarios::Condition& condition : space.where) asks["where"].push_back(condition.text);
  for (const scenarios::Condition& condition : space.constraints)
    asks["constraints"].push_back(condition.text);
  for (const scenarios::Objective& objective : space.objectives)
    asks["objectives"].push_back({objective.path, objective.smaller});
  SpaceRow row;
  row.id = key_of(asks.dump());
  row.name = space.name;
  for (const scenarios::Axis& axis : space.axes) {
    row.axes.push_back(axis.name);
    auto& values = row.values.emplace_back();
    for (const scenarios::AxisValue& value : axis.values)
      values.push_back({value.shown, value.overrides});
  }
  for (const scenarios::Objective& objective : space.objectives)
    row.objectives.push_back({objective.path, objective.smaller});
  for (const scenarios::Condition& constraint : space.constraints)
    row.constraints.push_back(constraint.text);
  row.base = scenarios::standing_alone(scenarios::assemble(space.base, {}));
  return row;
}

Exploration explore(const Backend& backend, const Points& points, const std::string& database,
                    const ExploreOptions& options) {
  const Measures measures(points);
  const std::size_t jobs = options.jobs ? options.jobs : usable_cores();
  const auto run = [&](Store& store, WorkerPool& workers) {
    Batch batch(points, measures, store, workers);
    return Explorer(points, measures, store, batch, options).run();
  };
  if (!options.workers.empty()) {
    WorkerPool workers(options.workers, {jobs, false, options.silence_s, options.notice});
    Store store(database, Database::Access::write);
    refuse_while_filled(store, database);
    return run(store, workers);
  }
  Store store(database, Database::Access::write);
  refuse_while_filled(store, database);
  const AroundFork around = {[&store] { store.close(); }, [&store] { store.open(); }};
  WorkerPool own({own_worker(backend, jobs, options.limit_s, around)},
                 {jobs, true, options.silence_s, options.notice});
  return run(store, own);
}

}  // namespace spillway::explore
