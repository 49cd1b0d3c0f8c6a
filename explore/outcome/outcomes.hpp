#pragma once

#include "explore/processes/child_pool.hpp"
#include "reports/result/result.hpp"
#include "scenarios/reading/read_scenario.hpp"
#include "strategies/machine/machine.hpp"

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace spillway::explore {

/// What came of one scenario: its result, whether it fits or not; what is wrong with it; or why it
/// could not be simulated, which says nothing of the scenario.
struct Outcome {
  std::optional<result::Result> result;
  std::vector<description::Complaint> complaints;  ///< the user's errors
  /// A device's, a time-out's, no process or no memory, or one that is_bug: a bug's or a crash's.
  std::string failure;
  bool not_tried = false;  ///< ended by a Watch before it was done; `failure` says so
  bool ruled_out = false;  ///< by its bound (Effort::least_tokens_per_s): it was not simulated

  /// Else another try may answer.
  bool answered() const { return result.has_value() || !complaints.empty() || ruled_out; }
};

/// The result of an outcome that has one.
///   Throws  ScenarioError; DeviceError, also of what took too long; InternalError of a bug
result::Result result_of(const Outcome& outcome);

/// The catalogue as the reader of scenarios wants it.
std::vector<scenarios::SystemInfo> known_systems();

/// What was simulated, read again.
description::Scenario scenario_of(const result::Result& result);

/// How scenarios are run; whoever links a simulator provides one.
struct Backend {
  std::string name;  ///< in results: "sim"
  std::function<std::unique_ptr<strategies::Machine>(const description::Scenario&, bool trace)>
      open;
  std::function<void()> prepare;  ///< loads what children forked afterwards then share
  Watch watch = {};               ///< none: nothing ends before its time

  Starts starts = {};  ///< of children, shared by copies

  /// False when the watch ends it, or when there are no processes to be had.
  bool goes_on() const { return (!watch || watch(0)) && !starts.given_up(); }
  /// The same that tells of nothing: for a part of a question, where the whole is asked next.
  Backend quiet() const;
  /// Told of each bug that a simulation in a child ended with, whoever asked for the simulation,
  /// and what was simulated: a scenario as JSON, "" where nobody knows.
  std::function<void(const std::string& failure, const std::string& scenario)> on_bug = {};
  /// Told why a scenario could not be simulated, whoever asked for it; not of what a Watch ended.
  std::function<void(const std::string& failure)> on_unanswered = {};
  /// Of a process that is a child already, whose end harms nobody: simulate_all starts no others,
  /// and neither limits the time nor asks the watch.
  bool in_this_process = false;
  /// The same machine, on which what is equal is simulated once (strategies::Fold): a run that it
  /// cannot stand for is repeated on one of `open`. Null: every run is on one of those.
  std::function<std::unique_ptr<strategies::Machine>(const description::Scenario&)> open_folded =
      {};
};

/// The backend that counts besides into `unanswered`, which has to outlive it, what could not be
/// simulated.
Backend counting(const Backend& backend, std::uint64_t& unanswered);

/// What becomes of a scenario that does not fit: it ends with the request that failed, which is
/// fast, or goes on to find what it would need of every tier.
enum class WhenFull : unsigned char { stop, find_need };

/// What is done for an answer.
struct Effort {
  WhenFull full = WhenFull::stop;
  /// Beside the plan for all of the machine those for less (lower_plans.hpp), the best of them all.
  bool lower_plans = true;
  bool decision = false;  ///< the result holds what was decided, for replay()
  /// attempt() leaves out what bounds say has no room, or fewer tokens per second than these, > 0.
  std::optional<double> least_tokens_per_s = std::nullopt;
};

/// Simulates `scenario` in this process.
///   trace   receives all spans when not null
///   Throws  ScenarioError, DeviceError, InternalError
result::Result simulate(const Backend& backend, const description::Scenario& scenario,
                        result::Trace* trace = nullptr,
                        const Effort& effort = {WhenFull::find_need});

/// Runs once more what was decided, without deciding anything: the same result.
///   file    a result with its decision, or a decision alone. What a result says beside its run,
///           such as what would help, is taken over from it
///   Throws  ScenarioError, of a file of another kind too; DeviceError, InternalError
result::Result replay(const Backend& backend, const nlohmann::json& file,
                      result::Trace* trace = nullptr);

/// A run that was repeated from a file.
struct Replayed {
  result::Result result;
  nlohmann::json stored;  ///< the result that the file is; null: it is a decision alone
};

/// The same of a file that `simulate --json` wrote.
///   Throws  ScenarioError also of a file that cannot be read or is no JSON; complaints name it
Replayed replay_file(const Backend& backend, const std::string& path,
                     result::Trace* trace = nullptr);

/// The better of `own`, what came of the plan for all of the machine, and plans for less, which are
/// simulated in children side by side.
///   simulated  counts them
result::Result with_lower_plans(const Backend& backend, const description::Scenario& scenario,
                                result::Result own, std::uint64_t& simulated);

/// simulate(); whatever it throws is the outcome.
Outcome attempt(const Backend& backend, const description::Scenario& scenario,
                const Effort& effort = {}, result::Trace* trace = nullptr);

/// {"result"}, {"errors"}, {"failure"} or {"ruled_out"}.
nlohmann::json outcome_json(const Outcome& outcome);
/// Reads it.
Outcome outcome_of(const nlohmann::json& json);

/// attempt() as the text of outcome_json().
std::string outcome_text(const Backend& backend, const description::Scenario& scenario,
                         const Effort& effort = {});

/// Reads what outcome_text wrote in a child that ended with `status`, if it got that far.
Outcome read_outcome(const std::string& text, int status);

/// Reads what came of outcome_text as a piece of work.
Outcome outcome_of(const Piece& piece);

/// What a scenario gets that takes too long.
inline constexpr const char* over_limit = "the simulation exceeded its time limit";
/// What a scenario gets whose turn did not come, or that was not done, when a Watch ended it.
inline constexpr const char* ended_early = "not tried";

/// Of one simulation.
inline constexpr double default_limit_s = 600;

/// Simulates each scenario in a child process of its own, `jobs` at a time; the simulator is loaded
/// once, before the first fork. A child that crashes or exceeds `limit_s` is an Outcome with its
/// failure, as are one that is killed twice and one for which there is no process; so is what the
/// backend's Watch ends.
///   Result  parallel to `scenarios`
std::vector<Outcome> simulate_all(const Backend& backend,
                                  std::span<const description::Scenario> scenarios,
                                  std::size_t jobs = 0, double limit_s = default_limit_s,
                                  const Effort& effort = {});

}  // namespace spillway::explore
