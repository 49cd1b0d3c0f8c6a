#include "explore/trials/spread.hpp"

#include "scenarios/description/pinned_interval.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/json/located_json.hpp"
#include "scenarios/json/shipped.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace spillway::explore {

using description::MachineFile;
using description::Scenario;
using nlohmann::json;

namespace {

constexpr std::size_t draws = 1024;
constexpr double tail = 0.05;

/// Those that decide how long a step takes; the others are factors on the answer.
bool decides_time(const SpreadGroup& group) {
  return group.name != "endurance" && group.name != "power" && group.name != "prices";
}

bool nobody_states(const std::string& source) {
  return source.starts_with("assumed") || source.starts_with("default");
}

bool matches(const std::string& path, const std::string& pattern) {
  if (!pattern.starts_with(".")) return path.starts_with(pattern);
  return path.starts_with("storage.") && path.find(pattern) != std::string::npos &&
         (pattern.ends_with(".") || path.ends_with(pattern));
}

json scaled(const json& value, double factor) {
  if (value.is_number()) {
    const double number = value.get<double>();
    return number <= 1 ? std::min(1.0, number * factor) : number * factor;
  }
  if (!value.is_string()) return value;
  using description::Dimension;
  for (const Dimension dimension :
       {Dimension::bytes_per_second, Dimension::flops_per_second, Dimension::params_per_second,
        Dimension::bytes, Dimension::seconds}) {
    const auto parsed = description::parse_quantity(dimension, value.get<std::string>());
    if (!parsed.problem.empty()) continue;
    const auto moved = parsed.value * factor;
    const bool whole = dimension != Dimension::seconds;
    return description::print_quantity(dimension, whole ? std::round(moved) : moved);
  }
  return value;
}

/// A group for each number that several figures pin to an interval.
void add_fitted(const MachineFile& machine, const json& written, std::vector<SpreadGroup>& groups) {
  for (const auto& [path, source] : machine.sources) {
    const auto interval = description::pinned_interval(source);
    const json* value = interval ? scenarios::value_at(written, path) : nullptr;
    if (!value) continue;
    const auto now =
        description::written_number(value->is_string() ? value->get<std::string>() : value->dump());
    const auto low = description::written_number(interval->low),
               high = description::written_number(interval->high);
    if (!now || !low || !high || now->value <= 0) continue;
    // a what-if moves the number, and then the interval is of another one
    if (low->value > now->value || high->value < now->value) continue;
    if (low->value < high->value)
      groups.push_back({path, {path}, low->value / now->value, high->value / now->value});
  }
}

/// The value below which a share of the list lies.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

/// The same numbers for the same seed, whatever the library.
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : engine_(seed) {}
  double next() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

/// Effects of each group alone, draws of all of them together.
class Spread {
 public:
  Spread(const Backend& backend, const Scenario& scenario, const result::Result& now,
         const Effort& effort)
      : backend_(backend), scenario_(scenario), now_(now), effort_(effort) {
    scenario_.run.steps = 1;  // equal steps repeat to 0.1 %
    if (!effort.lower_plans) keep_plan();
    for (SpreadGroup& group : open_groups(scenario.machine)) {
      // what a step does not have draws no numbers, so that ranges stay what they were without it
      if (group.name == "processor" && !scenario.strategy.weights.experts_on_cpu()) continue;
      (decides_time(group) ? timed_ : factors_).push_back(std::move(group));
    }
  }

  std::map<std::string, std::pair<double, double>> run(std::uint64_t seed) {
    if (timed_.empty() && factors_.empty()) return {};
    measure_effects();
    draw(seed);
    add_times();
    if (now_.wear && now_.wear->lifetime_years)
      add("wear.lifetime_years", *now_.wear->lifetime_years, {"endurance"});
    if (now_.run && now_.run->kwh) add("run.kwh", *now_.run->kwh, {"power"});
    if (now_.run && now_.run->usd.energy)
      add("run.usd.energy", *now_.run->usd.energy, {"power", "prices"});
    return std::move(range_);
  }

 private:
  /// A planner's equations may swap more on a faster machine than pays there; without other plans
  /// to take the best of, the amount stays what it is.
  void keep_plan() {
    using description::ActivationPolicy;
    description::ActivationsPart& part = scenario_.strategy.activations;
    if (part.policy == ActivationPolicy::swap && now_.plan.contains("swap_bytes"))
      part.swap_bytes = description::Bytes(now_.plan.at("swap_bytes").get<std::uint64_t>());
  }

  void measure_effects() {
    std::vector<Scenario> ends;
    std::vector<std::size_t> groups;
    effects_.assign(timed_.size(), 0);
    for (std::size_t group = 0; group < timed_.size(); ++group) {
      if (!is_used(timed_[group])) continue;
      ends.emplace_back(scenario_).machine =
          moved(scenario_.machine, {{timed_[group], tried_end(timed_[group])}});
      groups.push_back(group);
    }
    if (groups.empty()) return;
    ends.emplace_back(scenario_).machine = moved(scenario_.machine, at_high_ends());
    const auto outcomes = simulate_all(backend_, ends, 0, default_limit_s, effort_);
    // what does not fit at that end, as a plan for other rates may not, has no time
    const auto effect = [&](const Outcome& end) {
      const bool timed = end.result && end.result->feasible() && end.result->step_time_s > 0;
      return timed ? std::log(end.result->step_time_s / now_.step_time_s) : 0;
    };
    for (std::size_t i = 0; i < groups.size(); ++i) effects_[groups[i]] = effect(outcomes[i]);
    double expected = 0;
    for (const std::size_t group : groups)
      expected +=
          effects_[group] * std::log(timed_[group].high) / std::log(tried_end(timed_[group]));
    if (expected < 0) gain_ = std::clamp(effect(outcomes.back()) / expected, 0.0, 1.0);
  }

  /// A fitted number may have nothing below it.
  static double tried_end(const SpreadGroup& group) {
    return group.low < 1 ? group.low : group.high;
  }

  std::vector<std::pair<SpreadGroup, double>> at_high_ends() const {
    std::vector<std::pair<SpreadGroup, double>> factors;
    for (const SpreadGroup& group : timed_) factors.emplace_back(group, group.high);
    return factors;
  }

  /// Nodes have nothing to send where one of them does all, drives that nothing is read from or
  /// written to may be slower, and so may threads without hooks and caches that nothing passes.
  bool is_used(const SpreadGroup& group) const {
    const auto all = [&group](const auto& is) {
      return std::all_of(group.paths.begin(), group.paths.end(), is);
    };
    if (all([](const std::string& path) { return path == "network.per_gpu"; }))
      return scenario_.nodes_in_use() > 1;
    if (all([](const std::string& path) { return path.starts_with("storage."); }))
      return now_.io.ssd_read + now_.io.ssd_write > 0;
    const description::Strategy& parts = scenario_.strategy;
    if (group.name == "page cache") return parts.io_engine == description::IoEngine::buffered;
    if (group.name == "faults")
      return parts.gradients.d2h == description::CopyMemory::typed ||
             parts.weights.h2d == description::WeightCopy::typed;
    if (group.name == "threads")
      return scenario_.machine.host.launch.value() > 0 || scenario_.parallel.zero_stage == 3;
    return true;
  }

  /// The logarithm of what a factor does to the step, in proportion to what the low end does. What
  /// is faster than it is taken to be brings less: what it kept waiting soon waits for others.
  double effect(std::size_t group, double log_factor) const {
    return effects_[group] * log_factor / std::log(tried_end(timed_[group])) *
           (log_factor > 0 ? gain_ : 1);
  }

  void draw(std::uint64_t seed) {
    Uniform uniform(seed);
    const auto log_factor = [&](const SpreadGroup& group) {
      const double low = std::log(group.low), high = std::log(group.high);
      return low + uniform.next() * (high - low);
    };
    for (std::size_t i = 0; i < draws; ++i) {
      double time = 0;
      for (std::size_t group = 0; group < timed_.size(); ++group) {
        drawn_.push_back(log_factor(timed_[group]));
        time += effect(group, drawn_.back());
      }
      times_.push_back(std::exp(time));
      for (const SpreadGroup& group : factors_) others_.push_back(std::exp(log_factor(group)));
    }
  }

  /// Of the draws at both tails. What is slow may keep other things waiting than it did alone, so
  /// the slow one is simulated. The fast one is what its groups bring together at their high ends,
  /// in proportion: of one draw the group that counts may not be fast.
  void add_times() {
    std::vector<std::size_t> order(draws);
    for (std::size_t i = 0; i < draws; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return times_[a] < times_[b]; });
    const auto at = [&](double share) {
      return order[static_cast<std::size_t>(share * (draws - 1) + 0.5)];
    };
    const double low = now_.step_time_s * std::min(1.0, times_[at(tail)]);
    const double high = std::max(now_.step_time_s, time_of_draw(at(1 - tail)));
    range_["step_time_s"] = {low, high};
    const double tokens = now_.tokens_per_s * now_.step_time_s;
    range_["throughput.tokens_per_s"] = {tokens / high, tokens / low};
    if (now_.run)
      range_["run.days"] = {now_.run->days * low / now_.step_time_s,
                            now_.run->days * high / now_.step_time_s};
  }

  /// 0: it does not fit, or nothing decides times.
  double time_of_draw(std::size_t draw) const {
    if (timed_.empty()) return 0;
    std::vector<std::pair<SpreadGroup, double>> factors;
    for (std::size_t group = 0; group < timed_.size(); ++group)
      factors.emplace_back(timed_[group], std::exp(drawn_[draw * timed_.size() + group]));
    Scenario drawn = scenario_;
    drawn.machine = moved(scenario_.machine, factors);
    const auto outcomes = simulate_all(backend_, {&drawn, 1}, 0, default_limit_s, effort_);
    const auto& result = outcomes.front().result;
    return result && result->feasible() ? result->step_time_s : 0;
  }

  /// A number that grows with the step's time and with the factors of some groups.
  void add(const std::string& path, double value, const std::vector<std::string>& groups) {
    std::vector<double> values;
    for (std::size_t i = 0; i < draws; ++i) {
      values.push_back(value * times_[i]);
      for (std::size_t column = 0; column < factors_.size(); ++column)
        if (std::find(groups.begin(), groups.end(), factors_[column].name) != groups.end())
          values.back() *= others_[i * factors_.size() + column];
    }
    range_[path] = {quantile(values, tail), quantile(values, 1 - tail)};
  }

  const Backend& backend_;
  Scenario scenario_;
  const result::Result& now_;
  const Effort& effort_;
  std::vector<SpreadGroup> timed_, factors_;
  std::vector<double> effects_;  ///< by timed group: of its low end, on the step's logarithm
  double gain_ = 1;            ///< of all groups at their high ends, of what their low ends promise
  std::vector<double> drawn_;  ///< by draw and timed group: logarithms of factors
  std::vector<double> times_;  ///< by draw: of now's step
  std::vector<double> others_;  ///< by draw and other group: factors
  std::map<std::string, std::pair<double, double>> range_;
};

}  // namespace

std::vector<SpreadGroup> open_groups(const MachineFile& machine) {
  const json known =
      scenarios::read_located(scenarios::shipped_file("scenarios/knobs", "spread")).value;
  const json written = machine;
  std::vector<SpreadGroup> groups;
  for (const json& one : known.at("groups")) {
    SpreadGroup group{one.at("name"), {}, one.at("low"), one.at("high"), one.value("slows", false)};
    for (const auto& [path, source] : machine.sources)
      for (const json& pattern : one.at("paths"))
        if (nobody_states(source) && matches(path, pattern.get<std::string>())) {
          json copy = written;
          if (scenarios::value_at(copy, path)) group.paths.push_back(path);
          break;
        }
    if (!group.paths.empty()) groups.push_back(std::move(group));
  }
  add_fitted(machine, written, groups);
  return groups;
}

MachineFile moved(const MachineFile& machine,
                  const std::vector<std::pair<SpreadGroup, double>>& factors) {
  json written = machine;
  for (const auto& [group, factor] : factors)
    for (const std::string& path : group.paths)
      if (json* value = scenarios::value_at(written, path))
        *value = scaled(*value, group.slows ? 1 / factor : factor);
  return written.get<MachineFile>();
}

std::map<std::string, std::pair<double, double>> range_of(const Backend& backend,
                                                          const Scenario& scenario,
                                                          const result::Result& now,
                                                          std::uint64_t seed,
                                                          const Effort& effort) {
  if (!now.feasible() || now.step_time_s <= 0 || scenario.run.io_bench) return {};
  return Spread(backend, scenario, now, effort).run(seed);
}

}  // namespace spillway::explore
