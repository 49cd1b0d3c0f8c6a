#include "explore/trials/trials.hpp"

#include "explore/outcome/most_tokens.hpp"
#include "explore/points/reasons.hpp"
#include "explore/points/shortage.hpp"
#include "explore/trials/machine_shape.hpp"
#include "strategies/bounds/mandatory.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <span>

namespace spillway::explore {

using description::Scenario;
using nlohmann::json;

namespace {

text::Text why_not(const Outcome& outcome) {
  if (!outcome.complaints.empty()) return to_string(outcome.complaints.front());
  if (!outcome.result) return outcome.failure;
  return outcome.result->feasible() ? text::Text() : no_room(*outcome.result);
}

/// A trial that could be resolved.
struct Ready {
  Trial* trial = nullptr;
  Scenario scenario;
  double most = 0;  ///< tokens a second, by its bound
};

/// Resolves the trials; those that cannot be have their reason.
std::vector<Ready> resolve_all(const json& base, std::vector<Trial>& trials,
                               std::optional<description::ScenarioError>& first) {
  const std::vector<scenarios::SystemInfo> systems = known_systems();
  std::vector<Ready> ready;
  for (Trial& trial : trials) {
    try {
      ready.push_back({&trial, scenarios::read_scenario(base, trial.overrides, systems,
                                                        scenarios::Refuse::what_cannot_run)
                                   .scenario});
    } catch (const description::ScenarioError& error) {
      const description::Complaint& complaint = error.complaints().front();
      trial.reason = complaint.path + ": " + complaint.message;
      trial.refused = true;
      if (!first) first = error;
    }
  }
  if (!ready.empty()) first.reset();
  return ready;
}

void simulate_ready(const Backend& backend, std::span<Ready> ready, const Effort& effort = {}) {
  std::vector<Scenario> scenarios;
  for (const Ready& one : ready) scenarios.push_back(one.scenario);
  const std::vector<Outcome> outcomes =
      simulate_all(backend, scenarios, 0, default_limit_s, effort);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    ready[i].trial->result = outcomes[i].result;
    ready[i].trial->reason = why_not(outcomes[i]);
    ready[i].trial->refused = !outcomes[i].complaints.empty();
    ready[i].trial->not_tried = outcomes[i].not_tried;
    ready[i].trial->unanswered = !outcomes[i].failure.empty() && !outcomes[i].not_tried;
  }
}

/// What was left when the time was over.
void leave_out_rest(std::span<Ready> ready) {
  for (Ready& one : ready) {
    one.trial->not_tried = true;
    one.trial->reason = ended_early;
  }
}

/// Demands that were counted of scenarios that differ in rates and sizes of their machine: one for
/// all of them, or of a pipeline that is cut by time one for each cut.
using Demands = std::map<std::string, std::vector<std::optional<strategies::Mandatory>>>;

/// Sets the bound of a trial.
void bound(Ready& ready, Demands& demands) {
  constexpr double any = std::numeric_limits<double>::infinity();
  const Scenario& scenario = ready.scenario;
  json key = scenario;
  key["machine"] = shape_of(scenario.machine);
  auto& counted = demands[key.dump()];
  auto found = std::find_if(counted.begin(), counted.end(), [&](const auto& mandatory) {
    return !mandatory || mandatory->holds_for(scenario);
  });
  if (found == counted.end()) found = counted.insert(found, mandatory_of(scenario));
  const std::optional<strategies::Mandatory>& mandatory = *found;
  ready.most = any;
  if (!mandatory) return;
  if (const char* tier = mandatory->too_small(scenario.machine)) {
    const Shortage shortage = shortage_of(*mandatory, tier, scenario.machine);
    ready.trial->reason = shortage.words();
    ready.trial->times_too_large = shortage.needs / shortage.has;
    ready.trial->ruled_out = true;
    return;
  }
  const double step_s = mandatory->step_s(scenario);
  if (step_s > 0) ready.trial->most_tokens_per_s = ready.most = tokens_a_step(scenario) / step_s;
}

/// Leaves out what cannot be the fastest any more.
void leave_out_slow(std::vector<Ready>& ready, double least) {
  for (Ready& one : ready)
    if (one.most < least) {
      one.trial->ruled_out = true;
      one.trial->reason = text::filled("cannot be faster: at most {}",
                                       {text::number(one.most, text::Quantity::tokens_rate)});
    }
  std::erase_if(ready, [](const Ready& one) { return one.trial->ruled_out; });
}

/// Simulated together, so that what follows meets the fastest of them.
constexpr std::size_t batch_size = 8;

}  // namespace

std::optional<description::ScenarioError> try_all(const Backend& backend, const json& base,
                                                  std::vector<Trial>& trials) {
  std::optional<description::ScenarioError> first;
  std::vector<Ready> ready = resolve_all(base, trials, first);
  if (!ready.empty()) simulate_ready(backend, ready);
  return first;
}

std::optional<description::ScenarioError> try_bounded(const Backend& backend, const json& base,
                                                      std::vector<Trial>& trials,
                                                      const Effort& effort) {
  std::optional<description::ScenarioError> first;
  std::vector<Ready> ready = resolve_all(base, trials, first);
  Demands demands;
  for (Ready& one : ready) {
    if (!backend.goes_on()) break;
    bound(one, demands);
    one.trial->ruled_out = false;  // it is simulated all the same
  }
  if (!ready.empty()) simulate_ready(backend, ready, effort);
  return first;
}

std::optional<description::ScenarioError> try_fastest(const Backend& backend, const json& base,
                                                      std::vector<Trial>& trials, double share,
                                                      TrialCounts& counts) {
  std::optional<description::ScenarioError> first;
  std::vector<Ready> ready = resolve_all(base, trials, first);
  Demands demands;
  std::size_t bounds = 0;
  while (bounds < ready.size() && backend.goes_on()) bound(ready[bounds++], demands);
  counts.bounded += bounds;
  leave_out_rest(std::span(ready).subspan(bounds));
  ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(bounds), ready.end());
  leave_out_slow(ready, 0);
  std::stable_sort(ready.begin(), ready.end(),
                   [](const Ready& a, const Ready& b) { return a.most > b.most; });
  while (!ready.empty()) {
    const std::size_t size = std::min(batch_size, ready.size());
    simulate_ready(backend, std::span(ready).first(size));
    for (const Ready& one : std::span(ready).first(size)) counts.simulated += !one.trial->not_tried;
    ready.erase(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(size));
    if (const Trial* best = fastest(trials))
      leave_out_slow(ready, share * best->result->tokens_per_s);
  }
  for (const Trial& trial : trials) {
    counts.ruled_out += trial.ruled_out;
    counts.not_tried += trial.not_tried;
    counts.unanswered += trial.unanswered;
  }
  return first;
}

void find_needs(const Backend& backend, const json& base, const std::vector<Trial*>& trials) {
  constexpr std::size_t most = 12;
  const std::vector<scenarios::SystemInfo> systems = known_systems();
  std::vector<Ready> ready;
  for (Trial* trial : trials) {
    if (!trial->result || trial->fits() || ready.size() == most) continue;
    ready.push_back({trial, scenarios::read_scenario(base, trial->overrides, systems,
                                                     scenarios::Refuse::what_cannot_run)
                                .scenario});
  }
  if (!ready.empty()) simulate_ready(backend, ready, {WhenFull::find_need});
}

void find_needs(const Backend& backend, const json& base, std::vector<Trial>& trials) {
  std::vector<Trial*> all;
  for (Trial& trial : trials) all.push_back(&trial);
  find_needs(backend, base, all);
}

std::vector<std::string> assumed_numbers(const result::Result& result) {
  std::vector<std::string> paths;
  for (const auto& [path, source] : result.scenario.at("machine").at("sources").items())
    if (source.get<std::string>().starts_with("assumed") && !path.starts_with("prices_usd.") &&
        !path.starts_with("power."))
      paths.push_back(path);
  return paths;
}

}  // namespace spillway::explore
