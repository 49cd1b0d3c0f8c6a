#include "tests/sweep/sweep.hpp"

#include "explore/outcome/lower_plans.hpp"
#include "scenarios/description/bugs.hpp"
#include "strategies/bounds/mandatory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::sweep {

using description::Scenario;

namespace {

/// Simulated together; one that takes its whole time holds up no more than the end of a batch.
constexpr std::uint64_t batch_size = 128;

/// A scenario of the sweep, or of one on a better machine.
struct Point {
  std::uint64_t number = 0;
  Draft draft;
  Scenario scenario;
  std::string axis = {};  ///< "" of the scenario itself
  double before_s = 0, late_before = 0;
  nlohmann::json plan_before = {};
};

/// What a plan decides, without what it foresees; null where nothing plans the step.
nlohmann::json decided(const Scenario& scenario, const result::Result& result) {
  nlohmann::json decision;
  if (!explore::plans_ahead(scenario) || !result.plan.is_object()) return decision;
  for (const char* key : {"swap_bytes", "bytes_to_host", "bytes_to_ssd", "recomputed_bytes"})
    if (result.plan.contains(key)) decision[key] = result.plan[key];
  return decision;
}

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
        add(number, points);
      compare(simulate(points));
      tell(counts_);
    }
    return std::move(counts_);
  }

 private:
  /// The first attempt that does not contradict itself.
  void add(std::uint64_t number, std::vector<Point>& points) {
    constexpr std::uint64_t attempts = 8;
    for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
      Draft drawn = draft(options_.seed, number, attempt);
      auto scenario = resolve(drawn, &counts_.refused);
      if (!scenario) continue;
      if (!options_.system.empty() && scenario->strategy.system != options_.system) return;
      if (is_too_large(drawn, *scenario))
        ++counts_.too_large;
      else
        points.push_back({number, std::move(drawn), std::move(*scenario)});
      return;
    }
    ++counts_.refused_always;
  }

  /// Plans of 100 layers take 20 s each.
  static bool is_too_large(const Draft& draft, const Scenario& scenario) {
    constexpr std::uint64_t most = 40;
    const nlohmann::json& model = draft.base.at("model");
    return scenario.strategy.activations.policy == description::ActivationPolicy::plan &&
           model.is_object() &&
           model.at("num_hidden_layers").get<std::uint64_t>() *
                   scenario.training.gradient_accumulation >
               most;
  }

  /// Nothing of what contradicts itself, which `refused` counts.
  std::optional<Scenario> resolve(const Draft& draft, Refusals* refused = nullptr) const {
    try {
      return scenarios::read_scenario(draft.base, draft.overrides, systems_,
                                      scenarios::Refuse::what_cannot_run)
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
        note(counts_.internal, point, outcome.failure);
      else if (!outcome.failure.empty())
        note(counts_.too_slow, point, point.scenario.strategy.system);
      else if (!outcome.result)
        ++counts_.refused[without_numbers(outcome.complaints.front())];
      else if (!outcome.result->feasible())
        ++counts_.infeasible;
      else
        ++counts_.feasible, add_better(point, *outcome.result, better);
    }
    return better;
  }

  static void note(std::vector<Finding>& findings, const Point& point, std::string what) {
    findings.push_back({point.number, std::move(what), point.draft.words()});
  }

  void add_better(const Point& point, const result::Result& own, std::vector<Point>& better) {
    if (options_.compare_of == 0 || fits_seen_++ % options_.compare_of != 0) return;
    const double late = own.staleness ? own.staleness->mean : 0;
    const auto bound = strategies::Mandatory::of(point.scenario);
    if (const double least_s = bound ? bound->step_s(point.scenario) : 0;
        own.step_time_s < (1 - options_.tolerance) * least_s)
      note(counts_.impossible, point,
           own.system +
               fmt::format(": {:.4g} s where {:.4g} s are the least", own.step_time_s, least_s));
    for (const Upgrade& upgrade : upgrades(nlohmann::json(point.scenario.machine))) {
      Draft changed = point.draft;
      changed.overrides.insert(changed.overrides.end(), upgrade.overrides.begin(),
                               upgrade.overrides.end());
      if (auto scenario = resolve(changed))
        better.push_back({point.number, std::move(changed), std::move(*scenario), upgrade.axis,
                          own.step_time_s, late, decided(point.scenario, own)});
    }
  }

  void compare(const std::vector<Point>& better) {
    const std::vector<explore::Outcome> outcomes = outcomes_of(better);
    for (std::size_t i = 0; i < better.size(); ++i) {
      const Point& point = better[i];
      if (description::is_bug(outcomes[i].failure))
        note(counts_.internal, point, point.axis + ": " + outcomes[i].failure);
      if (!outcomes[i].result) continue;
      const result::Result& result = *outcomes[i].result;
      ++counts_.compared[point.axis];
      // updates that no step waits for: sooner ones are what a better machine may give instead
      const bool sooner = result.staleness && result.staleness->mean < point.late_before;
      const double after_s = result.feasible() ? result.step_time_s : 0;
      if (result.feasible() && (after_s <= (1 + options_.tolerance) * point.before_s || sooner))
        continue;
      const bool planned =
          decided(point.scenario, result) != point.plan_before && !slower_as_planned_before(point);
      const Slower slower{point.number, point.axis,          result.system, point.before_s,
                          after_s,      point.draft.words(), planned};
      const bool queues = !planned && result.feasible();
      const bool small = queues && slower.more() <= options_.queue_tolerance;
      (small ? counts_.reordered : counts_.slower).push_back(slower);
    }
  }

  /// Whether a swap of as many bytes as on the machine before is slower too.
  bool slower_as_planned_before(const Point& point) const {
    if (point.scenario.strategy.activations.policy != description::ActivationPolicy::swap)
      return false;
    Scenario as_before = point.scenario;
    as_before.strategy.activations.swap_bytes =
        description::Bytes(point.plan_before.at("swap_bytes").get<std::uint64_t>());
    const auto outcome = explore::simulate_all(backend_, std::span(&as_before, 1), 1,
                                               options_.limit_s, {explore::WhenFull::stop, false});
    const auto& result = outcome.front().result;
    return result && result->feasible() &&
           result->step_time_s > (1 + options_.tolerance) * point.before_s;
  }

  const explore::Backend& backend_;
  const Options options_;
  const std::vector<scenarios::SystemInfo> systems_;
  std::uint64_t fits_seen_ = 0;
  Counts counts_;
};

}  // namespace

Counts sweep(const explore::Backend& backend, const Options& options,
             const std::function<void(const Counts&)>& tell) {
  return Sweep(backend, options).run(tell);
}

}  // namespace spillway::sweep
