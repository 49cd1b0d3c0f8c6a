#include "tests/sweep/sweep.hpp"

#include "scenarios/description/bugs.hpp"
#include "strategies/catalogue.hpp"

#include <algorithm>

namespace spillway::sweep {

using description::Scenario;

namespace {

/// Simulated together; one that takes its whole time holds up no more than the end of a batch.
constexpr std::uint64_t batch_size = 128;

/// A scenario of the sweep, or of one on a better machine.
struct Point {
  std::uint64_t number = 0;
  std::string axis;  ///< "" of the scenario itself
  Scenario scenario;
  double before_s = 0;
};

/// What a complaint is about, the same for all numbers in it.
std::string without_numbers(const description::Complaint& complaint) {
  std::string text = complaint.path + ": " + complaint.message;
  std::string words;
  for (const char c : text)
    if (c < '0' || c > '9')
      words += c;
    else if (words.empty() || words.back() != '#')
      words += '#';
  return words;
}

class Sweep {
 public:
  Sweep(const explore::Backend& backend, const Options& options)
      : backend_(backend), options_(options), systems_(explore::known_systems()) {}

  Counts run(const std::function<void(const Counts&)>& tell) {
    const std::uint64_t end = options_.first + options_.scenarios;
    for (std::uint64_t from = options_.first; from < end; from += batch_size) {
      std::vector<Point> points;
      for (std::uint64_t number = from; number < std::min(end, from + batch_size); ++number)
        if (auto scenario = resolve(draft(options_.seed, number), &counts_.refused))
          points.push_back({number, "", std::move(*scenario), 0});
      compare(simulate(points));
      tell(counts_);
    }
    return std::move(counts_);
  }

 private:
  /// Nothing of what contradicts itself, which `refused` counts.
  std::optional<Scenario> resolve(const Draft& draft, Refusals* refused = nullptr) const {
    try {
      return scenarios::read_scenario(draft.base, draft.overrides, systems_,
                                      strategies::unsupported)
          .scenario;
    } catch (const description::ScenarioError& error) {
      if (refused) ++(*refused)[without_numbers(error.complaints().front())];
      return std::nullopt;
    }
  }

  std::vector<explore::Outcome> outcomes_of(const std::vector<Point>& points) const {
    std::vector<Scenario> scenarios;
    for (const Point& point : points) scenarios.push_back(point.scenario);
    return explore::simulate_all(backend_, scenarios, 0, options_.limit_s);
  }

  /// Counts what came of them; those that are to be compared come back on better machines.
  std::vector<Point> simulate(const std::vector<Point>& points) {
    const std::vector<explore::Outcome> outcomes = outcomes_of(points);
    std::vector<Point> better;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const explore::Outcome& outcome = outcomes[i];
      const Point& point = points[i];
      if (description::is_bug(outcome.failure))
        counts_.internal.emplace_back(point.number, outcome.failure);
      else if (!outcome.failure.empty())
        counts_.too_slow.emplace_back(point.number, point.scenario.strategy.system);
      else if (!outcome.result)
        ++counts_.refused[without_numbers(outcome.complaints.front())];
      else if (!outcome.result->feasible())
        ++counts_.infeasible;
      else
        ++counts_.feasible, add_better(point, outcome.result->step_time_s, better);
    }
    return better;
  }

  void add_better(const Point& point, double step_s, std::vector<Point>& better) {
    if (options_.compare_of == 0 || fits_seen_++ % options_.compare_of != 0) return;
    for (const Upgrade& upgrade : upgrades(nlohmann::json(point.scenario.machine))) {
      Draft changed = draft(options_.seed, point.number);
      changed.overrides.insert(changed.overrides.end(), upgrade.overrides.begin(),
                               upgrade.overrides.end());
      if (auto scenario = resolve(changed))
        better.push_back({point.number, upgrade.axis, std::move(*scenario), step_s});
    }
  }

  void compare(const std::vector<Point>& better) {
    const std::vector<explore::Outcome> outcomes = outcomes_of(better);
    for (std::size_t i = 0; i < better.size(); ++i) {
      const Point& point = better[i];
      if (description::is_bug(outcomes[i].failure))
        counts_.internal.emplace_back(point.number, point.axis + ": " + outcomes[i].failure);
      if (!outcomes[i].result) continue;
      const result::Result& result = *outcomes[i].result;
      ++counts_.compared[point.axis];
      const double after_s = result.feasible() ? result.step_time_s : 0;
      if (!result.feasible() || after_s > (1 + options_.tolerance) * point.before_s)
        counts_.slower.push_back(
            {point.number, point.axis, result.system, point.before_s, after_s});
    }
  }

  const explore::Backend& backend_;
  const Options options_;
  const std::vector<scenarios::SystemInfo> systems_;
  std::uint64_t fits_seen_ = 0;
  Counts counts_;
};

}  // namespace

std::uint64_t Counts::all_refused() const {
  std::uint64_t sum = 0;
  for (const auto& [what, count] : refused) sum += count;
  return sum;
}

Counts sweep(const explore::Backend& backend, const Options& options,
             const std::function<void(const Counts&)>& tell) {
  return Sweep(backend, options).run(tell);
}

}  // namespace spillway::sweep
