#include "explore/outcome/best_plan.hpp"

#include "explore/outcome/most_tokens.hpp"
#include "strategies/decide/migration_plans.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/systems/catalogue.hpp"

namespace spillway::explore {

namespace {

/// On a machine that folds what is equal.
///   Result  nothing where there is nothing to fold, and where what ran says nothing of all of it:
///           what does not fit says which of the ranks is the first to find no room
std::optional<result::Result> run_folded(const Backend& backend,
                                         const strategies::Decision& decision) {
  const description::Scenario& scenario = decision->scenario;
  if (!backend.open_folded || strategies::plans_steps(scenario.strategy.system) ||
      (!strategies::ranks_are_alike(scenario) && !strategies::micro_batches_may_repeat(scenario)))
    return std::nullopt;
  const auto machine = backend.open_folded(scenario);
  result::Result result = strategies::run(*machine, decision, backend.name);
  if (machine->unlike() || !result.feasible()) return std::nullopt;
  // where the last digits decide which of two is first, neither steps nor micro-batches repeat
  constexpr double rounding = 1e-9;
  if (machine->folds_micro_batches() && result.step_spread > rounding) return std::nullopt;
  return result;
}

result::Result run_whole(const Backend& backend, const strategies::Decision& decision,
                         result::Trace* trace) {
  const auto machine = backend.open(decision->scenario, trace != nullptr);
  if (decision->tiers == strategies::Tiers::grow) machine->let_tiers_grow();
  result::Result result = strategies::run(*machine, decision, backend.name);
  if (trace) *trace = std::move(machine->recorder().trace());
  return result;
}

}  // namespace

result::Result run_decided(const Backend& backend, const strategies::Decision& decision,
                           result::Trace* trace) {
  std::optional<result::Result> folded;
  if (!trace) folded = run_folded(backend, decision);
  result::Result result = folded ? std::move(*folded) : run_whole(backend, decision, trace);
  if (decision->scenario.machine.gpu.one_memory)
    result.notes.emplace_back(
        "GPU and host share one memory: their peaks are two parts of it, and what a system plans "
        "ahead for each of them may be too much for both");
  return result;
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
    if (in_children ? !known[i].result : is_longer(plan)) continue;
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
  return *mandatory_ && (*mandatory_)->step_s(plan.scenario) >= best_.step_time_s;
}

/// The same as take(), of a plan that is run in this process; not run where it moves the same as
/// one that is known.
bool BestPlan::take_run(const LowerPlan& plan, std::vector<text::Text> words,
                        const strategies::Decision& above) {
  const strategies::Decision decision =
      strategies::decided(plan.scenario, strategies::Tiers::fixed, probe_);
  if (strategies::moves_alike(*decision, *above) ||
      strategies::moves_alike(*decision, **best_decision_))
    return best_.feasible();
  result::Result lower = run_decided(backend_, decision);
  if (is_better(lower, best_)) best_decision_ = decision;
  return take(plan, std::move(words), std::move(lower));
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
