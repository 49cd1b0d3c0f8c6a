#include "explore/outcomes.hpp"

#include "explore/child.hpp"
#include "explore/runs_with.hpp"
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

std::string gib(std::uint64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / static_cast<double>(1ull << 30));
}

}  // namespace

std::string no_room(const result::Infeasible& infeasible) {
  const std::uint64_t asked = infeasible.asked_bytes, free = infeasible.free_bytes;
  std::string text = fmt::format("{} memory: {} in {} asks for {}, {} of {} are free",
                                 infeasible.tier, infeasible.purpose, infeasible.phase, gib(asked),
                                 gib(free), gib(infeasible.capacity_bytes));
  if (asked <= free) return text + ", too few once rounded up or in one piece";
  if (gib(asked) == gib(free))
    text += fmt::format(", {:.3g} MiB short",
                        static_cast<double>(asked - free) / static_cast<double>(1ull << 20));
  return text;
}

std::string outcome_text(const Backend& backend, const description::Scenario& scenario) {
  nlohmann::json outcome;
  try {
    outcome["result"] = simulate(backend, scenario);
  } catch (const description::ScenarioError& error) {
    outcome["errors"] = error.complaints();
  } catch (const std::exception& error) {
    outcome["failure"] = error.what();
  }
  return outcome.dump();
}

Outcome read_outcome(const std::string& text, int status) {
  Outcome outcome;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    outcome.failure = WIFSIGNALED(status) ? "the simulation was ended by signal " +
                                                std::string(::strsignal(WTERMSIG(status)))
                                          : "the simulation ended without a result";
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
       double limit_s)
      : backend_(backend),
        scenarios_(scenarios),
        jobs_(jobs),
        limit_s_(limit_s),
        outcomes_(scenarios.size()) {}

  std::vector<Outcome> work() {
    while (next_ < scenarios_.size() || !children_.empty()) {
      while (next_ < scenarios_.size() && children_.size() < jobs_) start(next_++);
      collect();
    }
    return std::move(outcomes_);
  }

 private:
  void start(std::size_t index) {
    Child child = start_child([&backend = backend_, &scenario = scenarios_[index]] {
      return outcome_text(backend, scenario);
    });
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

  void drop(std::size_t i) { children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i)); }

  const Backend& backend_;
  std::span<const description::Scenario> scenarios_;
  std::size_t jobs_;
  double limit_s_;
  std::size_t next_ = 0;
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

result::Result simulate(const Backend& backend, const description::Scenario& written,
                        result::Trace* trace) {
  const auto start = Clock::now();
  const strategies::Prepared prepared = strategies::prepare(written);
  const description::Scenario scenario = strategies::resolve_automatic(written, prepared);
  const auto machine = backend.open(scenario, trace != nullptr);
  result::Result result = strategies::run(*machine, scenario, prepared, backend.name);
  if (trace) *trace = std::move(machine->recorder().trace());
  result.runs_with = runs_with(scenario);
  result.simulated_in_s = seconds_since(start);
  return result;
}

std::vector<Outcome> simulate_all(const Backend& backend,
                                  std::span<const description::Scenario> scenarios,
                                  std::size_t jobs, double limit_s) {
  if (jobs == 0) jobs = std::max(1u, std::thread::hardware_concurrency());
  backend.prepare();
  std::fflush(nullptr);  // a child must not print what waits in the parent's buffers
  return Crew(backend, scenarios, jobs, limit_s).work();
}

}  // namespace spillway::explore
