#include "explore/outcomes.hpp"

#include "explore/child.hpp"
#include "explore/lower_plans.hpp"
#include "explore/runs_with.hpp"
#include "reports/result/needs.hpp"
#include "scenarios/description/bugs.hpp"
#include "scenarios/description/complaint_json.hpp"
#include "strategies/automatic.hpp"
#include "strategies/catalogue.hpp"
#include "strategies/run.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

namespace spillway::explore {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A child that simulates the scenario of that index.
struct Simulation {
  Child child;
  std::size_t index = 0;
};

/// In the units that a tier is sold in.
struct Unit {
  double bytes, small_bytes;
  const char *name, *small_name;
};
Unit unit_of(const std::string& tier) {
  if (tier == "gpu" || tier == "host") return {1ull << 30, 1ull << 20, "GiB", "MiB"};
  return {1e9, 1e6, "GB", "MB"};
}
std::string tier_words(const std::string& tier) {
  if (tier == "gpu") return "GPU memory";
  if (tier == "host") return "host memory";
  return tier == "ssd" ? "drives" : tier;
}

}  // namespace

std::string no_room(const result::Infeasible& infeasible) {
  const std::uint64_t asked = infeasible.asked_bytes, free = infeasible.free_bytes;
  const Unit unit = unit_of(infeasible.tier);
  const auto amount = [&](std::uint64_t bytes) {
    return fmt::format("{:.2f} {}", static_cast<double>(bytes) / unit.bytes, unit.name);
  };
  std::string text = fmt::format("{}: {} in {} asks for {}, {} of {} are free",
                                 tier_words(infeasible.tier), infeasible.purpose, infeasible.phase,
                                 amount(asked), amount(free), amount(infeasible.capacity_bytes));
  if (asked <= free) return text + ", too few once rounded up or in one piece";
  if (amount(asked) == amount(free))
    text += fmt::format(", {:.3g} {} short", static_cast<double>(asked - free) / unit.small_bytes,
                        unit.small_name);
  return text;
}

std::string no_room(const result::Result& result) {
  const result::Infeasible& first = result.infeasible.value();
  std::string text;
  for (const result::TierNeed& need : result::shortages_of(result)) {
    const Unit unit = unit_of(need.tier);
    text += fmt::format("{}{:.2f} of {:.2f} {} of {}", text.empty() ? "needs " : ", ",
                        static_cast<double>(need.needed) / unit.bytes,
                        static_cast<double>(need.capacity) / unit.bytes, unit.name,
                        tier_words(need.tier));
  }
  return text.empty() ? no_room(first) : text + "; first " + first.purpose + " in " + first.phase;
}

std::string outcome_text(const Backend& backend, const description::Scenario& scenario,
                         WhenFull full) {
  nlohmann::json outcome;
  try {
    outcome["result"] = simulate(backend, scenario, nullptr, full);
  } catch (const description::ScenarioError& error) {
    outcome["errors"] = error.complaints();
  } catch (const description::DeviceError& error) {
    outcome["failure"] = error.what();
  } catch (const std::exception& error) {
    outcome["failure"] = description::as_bug(error.what());
  }
  return outcome.dump();
}

namespace {
/// Somebody ends a process with it, or the system does that runs out of memory.
bool from_outside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}
}  // namespace

Outcome read_outcome(const std::string& text, int status) {
  Outcome outcome;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    outcome.failure = "the simulation ended without a result";
    if (WIFSIGNALED(status))
      outcome.failure =
          "the simulation was ended by signal " + std::string(::strsignal(WTERMSIG(status)));
    if (!WIFSIGNALED(status) || !from_outside(WTERMSIG(status)))
      outcome.failure = description::as_bug(outcome.failure);
    return outcome;
  }
  if (json.contains("result")) outcome.result = json["result"].get<result::Result>();
  if (json.contains("failure")) outcome.failure = json["failure"];
  if (json.contains("errors")) json["errors"].get_to(outcome.complaints);
  return outcome;
}

namespace {

/// Keeps up to `jobs` children busy and collects what they write.
class Crew {
 public:
  Crew(const Backend& backend, std::span<const description::Scenario> scenarios, std::size_t jobs,
       double limit_s, WhenFull full)
      : backend_(backend),
        scenarios_(scenarios),
        jobs_(jobs),
        limit_s_(limit_s),
        full_(full),
        outcomes_(scenarios.size()) {}

  std::vector<Outcome> work() {
    while (next_ < scenarios_.size() || !children_.empty()) {
      if (backend_.watch && !backend_.watch(std::exchange(done_, 0))) {
        give_up();
        break;
      }
      while (next_ < scenarios_.size() && children_.size() < jobs_) start(next_++);
      collect();
    }
    if (backend_.watch) backend_.watch(done_);
    return std::move(outcomes_);
  }

 private:
  void start(std::size_t index) {
    Child child = start_child(
        [this, &scenario = scenarios_[index]] { return outcome_text(backend_, scenario, full_); });
    if (child.pid == 0)
      outcomes_[index].failure = std::move(child.text);
    else
      children_.push_back({std::move(child), index});
  }

  void collect() {
    std::vector<pollfd> watched;
    for (const Simulation& one : children_) watched.push_back({one.child.pipe, POLLIN, 0});
    ::poll(watched.data(), watched.size(), 100);
    for (std::size_t i = children_.size(); i-- > 0;) {
      Child& child = children_[i].child;
      if (watched[i].revents != 0 && !read_some(child)) {
        const int status = reap(child);
        outcomes_[children_[i].index] = read_outcome(child.text, status);
        drop(i);
      } else if (seconds_since(child.started) > limit_s_) {
        ::kill(child.pid, SIGKILL);
        reap(child);
        outcomes_[children_[i].index].failure = over_limit;
        drop(i);
      }
    }
  }

  void drop(std::size_t i) {
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    ++done_;
  }

  void give_up() {
    for (Simulation& one : children_) {
      ::kill(one.child.pid, SIGKILL);
      reap(one.child);
      not_tried(one.index);
    }
    children_.clear();
    for (; next_ < scenarios_.size(); ++next_) not_tried(next_);
  }

  void not_tried(std::size_t index) {
    outcomes_[index].failure = ended_early;
    outcomes_[index].not_tried = true;
  }

  const Backend& backend_;
  std::span<const description::Scenario> scenarios_;
  std::size_t jobs_;
  double limit_s_;
  WhenFull full_;
  std::size_t next_ = 0;
  std::size_t done_ = 0;  ///< since the watch was asked
  std::vector<Simulation> children_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

std::vector<scenarios::SystemInfo> known_systems() {
  std::vector<scenarios::SystemInfo> systems;
  for (const strategies::System& system : strategies::catalogue())
    systems.push_back({system.name, system.defaults()});
  return systems;
}

namespace {

/// The scenario with the plan that it has.
result::Result simulate_as_planned(const Backend& backend, const description::Scenario& written,
                                   result::Trace* trace, WhenFull full) {
  strategies::Prepared prepared = strategies::prepare(written);
  const description::Scenario scenario =
      strategies::resolve_automatic(written, prepared, &prepared.filled);
  const auto machine = backend.open(scenario, trace != nullptr);
  if (full == WhenFull::find_need) machine->let_tiers_grow();
  result::Result result = strategies::run(*machine, scenario, prepared, backend.name);
  if (trace) *trace = std::move(machine->recorder().trace());
  result.runs_with = runs_with(scenario);
  if (scenario.machine.gpu.one_memory)
    result.notes.emplace_back(
        "GPU and host share one memory: their peaks are two parts of it, and what a system plans "
        "ahead for each of them may be too much for both");
  return result;
}

/// Tries the plans below `chosen`, or below the scenario's own, and takes the best that is better
/// than `best`.
bool improve(const Backend& backend, const description::Scenario& written, result::Result& best,
             std::optional<LowerPlan>& chosen) {
  const std::string before = chosen ? chosen->words + ", " : "";
  bool improved = false;
  for (LowerPlan& plan : lower_plans(chosen.value_or(LowerPlan{"", written}), best)) {
    result::Result lower = simulate_as_planned(backend, plan.scenario, nullptr, WhenFull::stop);
    const bool last = plan.ends_list && lower.feasible();
    if (is_better(lower, best)) {
      best = std::move(lower);
      plan.words = before + plan.words;
      chosen = std::move(plan);
      improved = true;
    }
    if (last) break;
  }
  return improved;
}

}  // namespace

result::Result simulate(const Backend& backend, const description::Scenario& written,
                        result::Trace* trace, WhenFull full) {
  const auto start = Clock::now();
  const result::Result own = simulate_as_planned(backend, written, trace, full);
  result::Result best = own;
  std::optional<LowerPlan> chosen;
  for (int round = 0; round < lower_rounds; ++round)
    if (!improve(backend, written, best, chosen)) break;
  if (chosen) {
    if (trace) simulate_as_planned(backend, chosen->scenario, trace, WhenFull::stop);
    best.scenario = own.scenario;
    best.runs_with = own.runs_with;
    for (auto peak : {&result::Result::gpu, &result::Result::host}) {
      (best.*peak).capacity = (own.*peak).capacity;
      (best.*peak).reserve = (own.*peak).reserve;
    }
    best.notes.push_back(chosen->words + ": faster here than the plan for all of the machine");
  }
  best.simulated_in_s = seconds_since(start);
  return best;
}

std::vector<Outcome> simulate_all(const Backend& backend,
                                  std::span<const description::Scenario> scenarios,
                                  std::size_t jobs, double limit_s, WhenFull full) {
  if (jobs == 0) jobs = std::max(1u, std::thread::hardware_concurrency());
  backend.prepare();
  std::fflush(nullptr);  // a child must not print what waits in the parent's buffers
  std::vector<Outcome> outcomes = Crew(backend, scenarios, jobs, limit_s, full).work();
  for (const Outcome& outcome : outcomes)
    if (backend.on_bug && description::is_bug(outcome.failure)) backend.on_bug(outcome.failure);
  return outcomes;
}

}  // namespace spillway::explore
