#include "explore/outcome/best_plan.hpp"

#include "explore/outcome/most_tokens.hpp"
#include "strategies/decide/migration_plans.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spillway::explore {

namespace {

/// What becomes of a run: a result, or that its steps are not below what was asked for.
struct Ran {
  std::optional<result::Result> result;
  bool too_long = false;
};

/// A run whose steps are of interest below so many seconds; 0: whatever they take.
Ran run_on(strategies::Machine& machine, const Backend& backend,
           const strategies::Decision& decision, double below_s) {
  if (below_s > 0) machine.want_steps_below(below_s);
  result::Result result = strategies::run(machine, decision, backend.name);
  if (machine.too_long()) return {std::nullopt, true};
  return {std::move(result)};
}

/// On a machine that folds what is equal.
///   Result  nothing where there is nothing to fold, and where what ran says nothing of all of it:
///           what does not fit says which of the ranks is the first to find no room
Ran run_folded(const Backend& backend, const strategies::Decision& decision, double below_s) {
  const description::Scenario& scenario = decision->scenario;
  if (!backend.open_folded || strategies::plans_steps(scenario.strategy.system) ||
      (!strategies::ranks_are_alike(scenario) && !strategies::micro_batches_may_repeat(scenario)))
    return {};
  const auto machine = backend.open_folded(scenario);
  Ran ran = run_on(*machine, backend, decision, below_s);
  if (machine->unlike()) return {};
  if (ran.too_long) return ran;
  if (!ran.result->feasible()) return {};
  // where the last digits decide which of two is first, neither steps nor micro-batches repeat
  constexpr double rounding = 1e-9;
  if (machine->folds_micro_batches() && ran.result->step_spread > rounding) return {};
  return ran;
}

Ran run_whole(const Backend& backend, const strategies::Decision& decision, double below_s,
              result::Trace* trace) {
  const auto machine = backend.open(decision->scenario, trace != nullptr);
  if (decision->tiers == strategies::Tiers::grow) machine->let_tiers_grow();
  Ran ran = run_on(*machine, backend, decision, below_s);
  if (trace) *trace = std::move(machine->recorder().trace());
  return ran;
}

/// Nothing where its steps are seen not to be below so many seconds; 0: whatever they take.
std::optional<result::Result> run_below(const Backend& backend,
                                        const strategies::Decision& decision, double below_s,
                                        result::Trace* trace = nullptr) {
  Ran ran;
  if (!trace) ran = run_folded(backend, decision, below_s);
  if (!ran.result && !ran.too_long) ran = run_whole(backend, decision, below_s, trace);
  if (ran.result && decision->scenario.machine.gpu.one_memory)
    ran.result->notes.emplace_back(
        "GPU and host share one memory: their peaks are two parts of it, and what a system plans "
        "ahead for each of them may be too much for both");
  return std::move(ran.result);
}

}  // namespace

result::Result run_decided(const Backend& backend, const strategies::Decision& decision,
                           result::Trace* trace) {
  return run_below(backend, decision, 0, trace).value();
}

DecidedRun decide_and_run(const Backend& backend, const description::Scenario& written,
                          WhenFull full, result::Trace* trace, const strategies::Probe& probe) {
  const bool grows = full == WhenFull::find_need;
  strategies::Decision decision = strategies::decided(
      written, grows ? strategies::Tiers::grow : strategies::Tiers::fixed, probe);
  result::Result result = run_decided(backend, decision, trace);
  return {std::move(result), std::move(decision)};
}

BestPlan::BestPlan(const Backend& backend, const description::Scenario& written, result::Result own)
    : backend_(backend), plan_{"", written}, own_(std::move(own)), best_(own_) {}

BestPlan::BestPlan(const Backend& backend, const description::Scenario& written,
                   const DecidedRun& own, strategies::Probe probe)
    : BestPlan(backend, written, own.result) {
  probe_ = std::move(probe);
  own_decision_ = best_decision_ = own.decision;
}

void BestPlan::search(bool in_children) {
  for (int round = 0; round < lower_rounds; ++round)
    if ((in_children && !backend_.goes_on()) || !improve(in_children)) return;
}

/// The best as a result of the scenario as it is written, with a note on the plan.
result::Result BestPlan::finish() {
  if (!found()) return std::move(own_);
  strategies::StandsFor whole = stands_for();
  best_.scenario = std::move(whole.question);
  best_.runs_with = own_.runs_with;
  for (auto peak : {&result::Result::gpu, &result::Result::host}) {
    (best_.*peak).capacity = (own_.*peak).capacity;
    (best_.*peak).reserve = (own_.*peak).reserve;
  }
  best_.notes.push_back(std::move(whole.note));
  return std::move(best_);
}

strategies::Decision BestPlan::decision() const {
  if (!found()) return own_decision_.value();
  strategies::Decided all = *best_decision_.value();
  all.stands_for = stands_for();
  return strategies::Decision(std::move(all));
}

strategies::StandsFor BestPlan::stands_for() const {
  return {own_.scenario,
          text::filled("{}: {} the plan for all of the machine",
                       {text::joined(words_, ", "),
                        own_.feasible() ? "faster here than" : "fits here, unlike"})};
}

/// Result  false when no plan below the one at hand is better
bool BestPlan::improve(bool in_children) {
  const LowerPlan above = plan_;
  const std::optional<strategies::Decision> known_above = best_decision_;
  const std::vector<text::Text> before = words_;
  const std::vector<LowerPlan> plans = lower_plans(above, best_);
  const std::vector<Outcome> known = in_children ? all_of(plans) : std::vector<Outcome>();
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const LowerPlan& plan = plans[i];
    std::vector<text::Text> words = before;
    if (plan.bytes_words == plan.words) std::erase(words, above.bytes_words);
    if (plan.updates_words == plan.words) std::erase(words, above.updates_words);
    words.push_back(plan.words);
    if (in_children ? !known[i].result : is_longer(plan) || was_tried(plan)) continue;
    const bool fits = in_children ? take(plan, std::move(words), *known[i].result)
                                  : take_run(plan, std::move(words), *known_above);
    if (fits ? plan.ends_list : plan.opens_list) break;
  }
  return words_ != before;
}

/// Whether a step of the plan is longer than the best one whatever is decided for it, so that
/// nobody has to run it. A plan that says something of those behind it is run.
bool BestPlan::is_longer(const LowerPlan& plan) {
  if (!best_.feasible() || plan.ends_list || plan.opens_list) return false;
  if (!mandatory_ || (*mandatory_ && !(*mandatory_)->holds_for(plan.scenario)))
    mandatory_ = mandatory_of(plan.scenario);
  return *mandatory_ && std::max((*mandatory_)->step_s(plan.scenario),
                                 (*mandatory_)->pipeline_s(plan.scenario)) >= best_.step_time_s;
}

/// Of plans that say nothing of those behind them: what was no better than the best one then is not
/// better than that of today.
bool BestPlan::was_tried(const LowerPlan& plan) {
  if (plan.ends_list || plan.opens_list) return false;
  nlohmann::json scenario = plan.scenario;
  if (std::ranges::find(tried_, scenario) != tried_.end()) return true;
  tried_.push_back(std::move(scenario));
  return false;
}

/// Whether it moves the same as one that was tried.
bool BestPlan::moves_as_one_before(const strategies::Decision& decision) const {
  return std::ranges::any_of(run_, [&](const strategies::Decision& before) {
    return strategies::moves_alike(*decision, *before);
  });
}

/// The same as take(), of a plan that is run in this process; not run where it moves the same as
/// one that is known, and no longer than until it is seen that it is not the better one.
bool BestPlan::take_run(const LowerPlan& plan, std::vector<text::Text> words,
                        const strategies::Decision& above) {
  const bool says_more = plan.ends_list || plan.opens_list;
  const strategies::Decision decision =
      strategies::decided(plan.scenario, strategies::Tiers::fixed, probe_);
  if (strategies::moves_alike(*decision, *above) ||
      strategies::moves_alike(*decision, **best_decision_))
    return best_.feasible();
  if (!says_more && moves_as_one_before(decision)) return false;
  run_.push_back(decision);
  const bool limited = !says_more && best_.feasible();
  std::optional<result::Result> lower =
      run_below(backend_, decision, limited ? best_.step_time_s : 0);
  if (!lower) return true;
  if (is_better(*lower, best_)) best_decision_ = decision;
  return take(plan, std::move(words), std::move(*lower));
}

std::vector<Outcome> BestPlan::all_of(const std::vector<LowerPlan>& plans) {
  std::vector<description::Scenario> scenarios;
  for (const LowerPlan& plan : plans) scenarios.push_back(plan.scenario);
  simulated_ += scenarios.size();
  return simulate_all(backend_, scenarios, 0, default_limit_s, {WhenFull::stop, false});
}

/// Result  it fits
bool BestPlan::take(const LowerPlan& plan, std::vector<text::Text> words, result::Result lower) {
  if (!is_better(lower, best_)) return lower.feasible();
  best_ = std::move(lower);
  plan_ = plan;
  words_ = std::move(words);
  return true;
}

}  // namespace spillway::explore
