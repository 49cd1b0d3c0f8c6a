#include "explore/trials.hpp"

#include "explore/machine_shape.hpp"
#include "strategies/catalogue.hpp"
#include "strategies/counting/mandatory.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <map>
#include <span>

namespace spillway::explore {

using description::Scenario;
using nlohmann::json;

namespace {

std::string why_not(const Outcome& outcome) {
  if (!outcome.complaints.empty()) return to_string(outcome.complaints.front());
  if (!outcome.result) return outcome.failure;
  const auto& stop = outcome.result->infeasible;
  return stop ? no_room(*stop) : "";
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
      ready.push_back(
          {&trial, scenarios::read_scenario(base, trial.overrides, systems, strategies::unsupported)
                       .scenario});
    } catch (const description::ScenarioError& error) {
      const description::Complaint& complaint = error.complaints().front();
      trial.reason = complaint.path + ": " + complaint.message;
      if (!first) first = error;
    }
  }
  if (!ready.empty()) first.reset();
  return ready;
}

void simulate_ready(const Backend& backend, std::span<Ready> ready) {
  std::vector<Scenario> scenarios;
  for (const Ready& one : ready) scenarios.push_back(one.scenario);
  const std::vector<Outcome> outcomes = simulate_all(backend, scenarios);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    ready[i].trial->result = outcomes[i].result;
    ready[i].trial->reason = why_not(outcomes[i]);
    ready[i].trial->unanswered = !outcomes[i].failure.empty();
  }
}

/// Demands that were counted, one for all scenarios that differ in rates and sizes of their
/// machine.
using Demands = std::map<std::string, std::optional<strategies::Mandatory>>;

/// Sets the bound of a trial.
void bound(Ready& ready, Demands& demands) {
  constexpr double any = std::numeric_limits<double>::infinity();
  const Scenario& scenario = ready.scenario;
  json key = scenario;
  key["machine"] = shape_of(scenario.machine);
  const auto [found, fresh] = demands.try_emplace(key.dump());
  if (fresh) found->second = strategies::Mandatory::of(scenario);
  ready.most = any;
  if (!found->second) return;
  if (const char* tier = found->second->too_small(scenario.machine)) {
    ready.trial->reason = std::string(tier) + " memory: too small for what is held throughout";
    ready.trial->ruled_out = true;
    return;
  }
  const description::Training& training = scenario.training;
  const double tokens = static_cast<double>(training.micro_batch * training.gradient_accumulation *
                                            scenario.parallel.data * training.sequence);
  const double step_s = found->second->step_s(scenario);
  if (step_s > 0) ready.trial->most_tokens_per_s = ready.most = tokens / step_s;
}

/// Leaves out what cannot be the fastest any more.
void leave_out_slow(std::vector<Ready>& ready, double least) {
  for (Ready& one : ready)
    if (one.most < least) {
      one.trial->ruled_out = true;
      one.trial->reason = fmt::format("cannot be faster: at most {:.4g} tokens/s", one.most);
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
                                                      std::vector<Trial>& trials) {
  std::optional<description::ScenarioError> first;
  std::vector<Ready> ready = resolve_all(base, trials, first);
  Demands demands;
  for (Ready& one : ready) {
    bound(one, demands);
    one.trial->ruled_out = false;  // it is simulated all the same
  }
  if (!ready.empty()) simulate_ready(backend, ready);
  return first;
}

std::optional<description::ScenarioError> try_fastest(const Backend& backend, const json& base,
                                                      std::vector<Trial>& trials, double share,
                                                      TrialCounts& counts) {
  std::optional<description::ScenarioError> first;
  std::vector<Ready> ready = resolve_all(base, trials, first);
  Demands demands;
  for (Ready& one : ready) bound(one, demands);
  counts.bounded += ready.size();
  leave_out_slow(ready, 0);
  std::stable_sort(ready.begin(), ready.end(),
                   [](const Ready& a, const Ready& b) { return a.most > b.most; });
  while (!ready.empty()) {
    const std::size_t size = std::min(batch_size, ready.size());
    simulate_ready(backend, std::span(ready).first(size));
    counts.simulated += size;
    ready.erase(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(size));
    if (const Trial* best = fastest(trials))
      leave_out_slow(ready, share * best->result->tokens_per_s);
  }
  for (const Trial& trial : trials) counts.ruled_out += trial.ruled_out;
  return first;
}

const Trial* fastest(const std::vector<Trial>& trials) {
  const Trial* best = nullptr;
  for (const Trial& trial : trials)
    if (trial.fits() && (!best || trial.result->tokens_per_s > best->result->tokens_per_s))
      best = &trial;
  return best;
}

std::vector<std::string> assumed_numbers(const result::Result& result) {
  std::vector<std::string> paths;
  for (const auto& [path, source] : result.scenario.at("machine").at("sources").items())
    if (source.get<std::string>().starts_with("assumed") && !path.starts_with("prices_usd."))
      paths.push_back(path);
  return paths;
}

}  // namespace spillway::explore
