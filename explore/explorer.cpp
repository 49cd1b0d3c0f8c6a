#include "explore/explorer.hpp"

#include "explore/batch.hpp"
#include "explore/scenario_key.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace spillway::explore {

using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

/// Points that are looked at together: few at first, so that what follows meets a front.
constexpr std::size_t first_batch = 16, largest_batch = 256;

/// Owns the search of one space.
class Explorer {
 public:
  Explorer(const Backend& backend, const Points& points, const std::string& database,
           const ExploreOptions& options)
      : points_(points),
        options_(options),
        measures_(points),
        store_(database, Database::Access::write),
        nursery_(backend, jobs(options), options.limit_s,
                 {[this] { store_.close(); }, [this] { store_.open(); }}),
        batch_(points, measures_, store_, nursery_) {}

  Exploration run() {
    begin();
    recall_front();
    const std::vector<bool> fast(points_.space().axes.size(), false);
    coarse_first(points_, fast, [this](const Coordinates& at) {
      ++counts_.points;
      return !over() && take(at);
    });
    run_waiting();
    const bool whole = !over() || complete_;
    if (whole) finish_front();
    return end(whole);
  }

 private:
  void finish_front() {
    std::vector<std::uint64_t> numbers;
    for (const FrontPoint& point : front_.points()) numbers.push_back(point.number);
    store_.keep_front(space_, numbers);
    batch_.complete_front(front_, [this] { return halted(); });
  }

  /// What was on the front when an earlier run ended: it prunes from the start.
  void recall_front() {
    std::vector<Coordinates> known;
    for (const PointRow& row : store_.points(space_, "front"))
      known.push_back(points_.at(row.number));
    Counts recalled;  // each will be met again
    batch_.run(known, front_, recalled, [this] { return over(); });
    batch_.forget_known();
  }

  static std::size_t jobs(const ExploreOptions& options) {
    return options.jobs ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  }

  void begin() {
    const scenarios::Space& space = points_.space();
    SpaceRow row{0, space_id(space), space.name, {}, {}, {}, {}, false};
    for (const scenarios::Axis& axis : space.axes) row.axes.push_back(axis.name);
    for (const scenarios::Objective& objective : space.objectives)
      row.objectives.push_back({objective.path, objective.smaller});
    for (const scenarios::Condition& constraint : space.constraints)
      row.constraints.push_back(constraint.text);
    space_ = store_.begin_space(row);
    batch_.begin(space_);
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool over() const { return halted() || (options_.budget_s > 0 && seconds() > options_.budget_s); }
  bool halted() const { return options_.stop(); }

  bool take(const Coordinates& at) {
    waiting_.push_back(at);
    return waiting_.size() < size_ || run_waiting();
  }

  void report() {
    options_.progress(
        {counts_, counts_.pruned + batch_.known(), batch_.kept(), seconds(), &front_});
  }

  /// False when time is over or somebody stops it.
  bool run_waiting() {
    const bool done = batch_.run(waiting_, front_, counts_, [this] {
      report();
      return over();
    });
    complete_ = done;
    waiting_.clear();
    size_ = std::min(2 * size_, largest_batch);
    return done;
  }

  Exploration end(bool whole) {
    store_.put_counts(space_, counts_, whole);
    store_.commit();
    report();
    return {space_, counts_, whole, halted(), seconds()};
  }

  const Points& points_;
  const ExploreOptions& options_;
  const Measures measures_;
  Store store_;
  Nursery nursery_;
  Batch batch_;
  Front front_;
  Counts counts_;
  std::int64_t space_ = 0;
  std::vector<Coordinates> waiting_;
  std::size_t size_ = first_batch;
  bool complete_ = true;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

std::string space_id(const scenarios::Space& space) {
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
  return key_of(asks.dump());
}

Exploration explore(const Backend& backend, const Points& points, const std::string& database,
                    const ExploreOptions& options) {
  return Explorer(backend, points, database, options).run();
}

}  // namespace spillway::explore
