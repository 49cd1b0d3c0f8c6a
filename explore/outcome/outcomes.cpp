#include "explore/outcome/outcomes.hpp"

#include "explore/outcome/best_plan.hpp"
#include "explore/outcome/most_tokens.hpp"
#include "explore/outcome/runs_with.hpp"
#include "explore/processes/child_pool.hpp"
#include "scenarios/description/bugs.hpp"
#include "scenarios/description/complaint_json.hpp"
#include "scenarios/description/text.hpp"
#include "strategies/decide/decide.hpp"
#include "strategies/decide/decision_json.hpp"
#include "strategies/systems/catalogue.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

namespace spillway::explore {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* out_of_memory = "the simulation ran out of memory";

}  // namespace

Backend counting(const Backend& backend, std::uint64_t& unanswered) {
  Backend counted = backend;
  counted.on_unanswered = [&unanswered, tell = backend.on_unanswered](const std::string& why) {
    ++unanswered;
    if (tell) tell(why);
  };
  return counted;
}

Outcome attempt(const Backend& backend, const description::Scenario& scenario, const Effort& effort,
                result::Trace* trace) {
  Outcome outcome;
  try {
    if (effort.least_tokens_per_s && most_tokens_per_s(scenario) < *effort.least_tokens_per_s) {
      outcome.ruled_out = true;
      return outcome;
    }
    outcome.result = simulate(backend, scenario, trace, effort);
  } catch (const description::ScenarioError& error) {
    outcome.complaints = error.complaints();
  } catch (const description::DeviceError& error) {
    outcome.failure = error.what();
  } catch (const std::bad_alloc&) {
    outcome.failure = out_of_memory;
  } catch (const std::exception& error) {
    outcome.failure = description::as_bug(error.what());
  }
  return outcome;
}

nlohmann::json outcome_json(const Outcome& outcome) {
  if (outcome.result) return {{"result", *outcome.result}};
  if (!outcome.failure.empty()) return {{"failure", outcome.failure}};
  if (outcome.ruled_out) return {{"ruled_out", true}};
  return {{"errors", outcome.complaints}};
}

std::string outcome_text(const Backend& backend, const description::Scenario& scenario,
                         const Effort& effort) {
  return description::json_text(outcome_json(attempt(backend, scenario, effort)));
}

namespace {
/// Somebody ends a process with it, or the system does that runs out of memory.
bool from_outside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}
}  // namespace

Outcome outcome_of(const nlohmann::json& json) {
  Outcome outcome;
  if (json.contains("result")) outcome.result = json["result"].get<result::Result>();
  if (json.contains("failure")) outcome.failure = json["failure"];
  if (json.contains("errors")) json["errors"].get_to(outcome.complaints);
  outcome.ruled_out = json.contains("ruled_out");
  return outcome;
}

Outcome read_outcome(const std::string& text, int status) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    Outcome outcome;
    outcome.failure = "the simulation ended without a result";
    const bool no_memory = WIFEXITED(status) && WEXITSTATUS(status) == no_memory_exit;
    if (no_memory) outcome.failure = out_of_memory;
    if (WIFSIGNALED(status))
      outcome.failure =
          "the simulation was ended by signal " + std::string(::strsignal(WTERMSIG(status)));
    if (!no_memory && (!WIFSIGNALED(status) || !from_outside(WTERMSIG(status))))
      outcome.failure = description::as_bug(outcome.failure);
    return outcome;
  }
  return outcome_of(json);
}

result::Result result_of(const Outcome& outcome) {
  if (outcome.result) return *outcome.result;
  if (!outcome.complaints.empty()) throw description::ScenarioError(outcome.complaints);
  if (description::is_bug(outcome.failure)) throw description::InternalError(outcome.failure);
  throw description::DeviceError(outcome.failure);
}

std::vector<scenarios::SystemInfo> known_systems() {
  std::vector<scenarios::SystemInfo> systems;
  for (const strategies::System& system : strategies::catalogue())
    systems.push_back({system.name, system.defaults()});
  return systems;
}

description::Scenario scenario_of(const result::Result& result) {
  return scenarios::read_scenario(result.scenario, {}, known_systems(),
                                  scenarios::Refuse::what_cannot_run)
      .scenario;
}

result::Result simulate(const Backend& backend, const description::Scenario& written,
                        result::Trace* trace, const Effort& effort) {
  const auto start = Clock::now();
  const strategies::Probe probe = strategies::remembering_probe();
  const DecidedRun own = decide_and_run(backend, written, effort.full, trace, probe);
  BestPlan plans(backend, written, own, probe);
  if (effort.lower_plans) plans.search(false);
  if (trace && plans.found()) decide_and_run(backend, plans.scenario(), WhenFull::stop, trace);
  std::optional<strategies::Decision> decision;
  if (effort.decision) decision = plans.decision();
  result::Result best = plans.finish();
  best.runs_with = runs_with(as_asked(*own.decision));
  if (decision) best.decision = strategies::decision_json(*decision, &best);
  best.simulated_in_s = seconds_since(start);
  return best;
}

result::Result with_lower_plans(const Backend& backend, const description::Scenario& scenario,
                                result::Result own, std::uint64_t& simulated) {
  BestPlan plans(backend, scenario, std::move(own));
  plans.search(true);
  simulated += plans.simulated();
  return plans.finish();
}

Outcome outcome_of(const Piece& piece) {
  Outcome outcome;
  switch (piece.end) {
    case Piece::End::done:
      return read_outcome(piece.text, piece.status);
    case Piece::End::over_limit:
      outcome.failure = over_limit;
      break;
    case Piece::End::not_tried:
      outcome.failure = ended_early;
      outcome.not_tried = true;
      break;
    case Piece::End::not_started:
      outcome.failure = "no process for the simulation: " + piece.text;
      break;
  }
  return outcome;
}

namespace {

std::vector<Outcome> attempt_all(const Backend& backend,
                                 std::span<const description::Scenario> scenarios,
                                 const Effort& effort) {
  std::vector<Outcome> outcomes;
  for (const description::Scenario& scenario : scenarios)
    outcomes.push_back(attempt(backend, scenario, effort));
  return outcomes;
}

std::vector<Outcome> fork_all(const Backend& backend,
                              std::span<const description::Scenario> scenarios, std::size_t jobs,
                              double limit_s, const Effort& effort) {
  const std::function<std::string(std::size_t)> work = [&](std::size_t i) {
    return outcome_text(backend, scenarios[i], effort);
  };
  const std::vector<Piece> pieces =
      in_children(scenarios.size(), work, jobs > 0 ? jobs : usable_cores(), limit_s, backend.watch,
                  backend.starts);
  std::vector<std::size_t> killed;
  std::vector<Outcome> outcomes;
  for (const Piece& piece : pieces) {
    if (piece.end == Piece::End::done && WIFSIGNALED(piece.status) &&
        WTERMSIG(piece.status) == SIGKILL)
      killed.push_back(outcomes.size());
    outcomes.push_back(outcome_of(piece));
  }
  if (killed.empty()) return outcomes;
  // once more, alone: the system kills what takes too much memory beside others
  const std::vector<Piece> again = in_children(
      killed.size(), [&](std::size_t i) { return work(killed[i]); }, 1, limit_s, backend.watch,
      backend.starts);
  for (std::size_t i = 0; i < killed.size(); ++i) outcomes[killed[i]] = outcome_of(again[i]);
  return outcomes;
}

}  // namespace

Backend Backend::quiet() const {
  Backend silent = *this;
  silent.on_bug = {};
  silent.on_unanswered = {};
  return silent;
}

std::vector<Outcome> simulate_all(const Backend& backend,
                                  std::span<const description::Scenario> scenarios,
                                  std::size_t jobs, double limit_s, const Effort& effort) {
  backend.prepare();
  std::vector<Outcome> outcomes = backend.in_this_process
                                      ? attempt_all(backend, scenarios, effort)
                                      : fork_all(backend, scenarios, jobs, limit_s, effort);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    if (backend.on_bug && description::is_bug(outcome.failure))
      backend.on_bug(outcome.failure, description::json_text(scenarios[i]));
    if (backend.on_unanswered && !outcome.answered() && !outcome.not_tried)
      backend.on_unanswered(outcome.failure);
  }
  return outcomes;
}

}  // namespace spillway::explore
