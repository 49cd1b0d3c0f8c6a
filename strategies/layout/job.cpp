#include "strategies/layout/job.hpp"

#include "strategies/layout/module_plan.hpp"
#include "strategies/layout/norm_copies.hpp"
#include "strategies/machine/setup.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spillway::strategies {

namespace {

constexpr std::uint64_t most_steps = 20;
constexpr std::uint64_t longest_period = 9;  // must be seen twice
constexpr double drift = 1e-3;               // relative; a steady schedule repeats to rounding

}  // namespace

// ---- Steps

Steps::Steps(Machine& machine, const description::Scenario& scenario)
    : machine_(machine),
      barrier_(machine.scheduler(), machine.topology().ranks),
      ranks_(machine.topology().ranks),
      warmup_(scenario.run.warmup_steps),
      measured_(std::max<std::uint64_t>(1, scenario.run.steps)),
      alike_(drift + scenario.run.jitter),
      micro_batches_(scenario.training.gradient_accumulation) {
  const std::uint64_t staleness = scenario.strategy.optimizer.staleness;
  if (staleness != 0) at_least_warmup(2);  // the first step has no update beside it
  in_cycles_ = staleness == description::any_staleness && machine.exact_time();
  if (in_cycles_) measured_ = std::max(measured_, most_steps / 2);
}

void Steps::at_least_warmup(std::uint64_t steps) { warmup_ = std::max(warmup_, steps); }

void Steps::period(std::uint64_t steps) {
  period_ = std::max(period_, steps);
  measured_ = description::divide_up(measured_, period_) * period_;
}

Task<bool> Steps::next() {
  // the last rank to arrive closes the step, before anybody goes on
  if (++arrived_ == ranks_) {
    arrived_ = 0;
    machine_.step_ended();
    add_left_out();
    more_ = go_on() && !machine_.unlike();
    ++begun_;
  }
  co_await barrier_.arrive();
  co_return more_;
}

std::uint64_t Steps::micro_batches() const {
  return machine_.folds_micro_batches() ? std::min(micro_batches_, folded_micro_batches)
                                        : micro_batches_;
}

void Steps::micro_batch_ended() {
  if (machine_.folds_micro_batches() && ++micro_batches_ended_ % ranks_ == 0)
    machine_.micro_batch_ended();
}

/// The micro-batches for which others of the step that has just ended stand. The set-up has none.
void Steps::add_left_out() {
  const std::uint64_t left_out = micro_batches_ - micro_batches();
  if (begun_ > 0 && left_out > 0 && !machine_.leave_out(left_out)) machine_.is_unlike();
}

/// Steps done so far: begun_ counts the set-up as well.
bool Steps::go_on() {
  const std::uint64_t done = begun_;
  // what does not fit has no time to measure: two steps fill memory as far as more of them do
  if (machine_.shortage() && done >= std::max<std::uint64_t>(2, warmup_ + 1)) return false;
  first_measured_ = warmup_ + 1;
  if (done > warmup_ && period_ == 1 && !in_cycles_ && machine_.exact_time() &&
      machine_.repeats_too_long(alike_)) {
    machine_.is_too_long();
    return false;
  }
  if (done < warmup_ + measured_) return true;
  first_measured_ = done + 1 - measured_;
  const bool met_full = machine_.met_full_cache();
  const bool alone = measured_ == 1 && period_ == 1 && !met_full;
  // caches were full before the first two, whatever they left of them: alike says nothing
  const bool says_something = !met_full || done > 2;
  steady_ = !machine_.exact_time() || (says_something && (alone || repeats()));
  if (steady_ || done < most_steps) return !steady_;
  // the mean of many says more than that of the last few
  first_measured_ = std::min(first_measured_, std::max(warmup_, done - most_steps / 2) + 1);
  if (in_cycles_) first_measured_ = start_of_whole_cycles();
  return false;
}

/// Steps repeat with a period of their own, a multiple of the one they have by design: then whole
/// periods are measured.
bool Steps::repeats() {
  const auto& steps = machine_.recorder().steps();  // the set-up first
  for (std::uint64_t period = period_; period <= longest_period; period += period_) {
    const std::uint64_t whole = description::divide_up(measured_, period) * period;
    const std::uint64_t window = std::max(whole, 2 * period);
    if (steps.size() < window + 1) continue;
    bool alike = true;
    for (std::size_t i = steps.size() - window + period; i < steps.size(); ++i) {
      const double now = steps[i].seconds(), then = steps[i - period].seconds();
      alike = alike && std::abs(now - then) <= alike_ * std::max(now, then);
    }
    if (!alike) continue;
    first_measured_ = steps.size() - whole;
    return true;
  }
  return false;
}

/// Updates that no step waits for go round in cycles of some steps and a fraction, so that a mean
/// depends on where in a cycle it begins and ends, by 4 % over ten steps. At least ten are
/// measured, as many as make the last three the most like the three before the first.
std::size_t Steps::start_of_whole_cycles() const {
  constexpr std::size_t compared = 3, fewest = most_steps / 2;
  const auto& steps = machine_.recorder().steps();  // the set-up first
  std::size_t best = std::min<std::size_t>(fewest, steps.size() - 1);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t length = fewest; length + compared + warmup_ < steps.size(); ++length) {
    double unlike = 0;
    for (std::size_t i = steps.size() - compared; i < steps.size(); ++i)
      unlike += std::pow(steps[i].seconds() - steps[i - length].seconds(), 2);
    if (unlike > least) continue;
    least = unlike;
    best = length;
  }
  return steps.size() - best;
}

// ---- NodeShared

NodeShared::NodeShared(Machine& machine, const description::Scenario& scenario)
    : states(machine.topology().ranks),
      checkpoints(machine.topology().ranks),
      handovers(machine.scheduler()) {
  if (scenario.strategy.activations.policy == description::ActivationPolicy::tensor_cache)
    caches.resize(machine.topology().ranks);
  if (scenario.strategy.optimizer.staleness == description::any_staleness)
    delays.resize(machine.topology().ranks);
  const auto& wanted = scenario.strategy.optimizer.lanes;
  for (const StorageInfo& storage : machine.topology().storages) {
    const auto found = wanted.find(storage.name);
    lanes.emplace_back(machine.scheduler(), found == wanted.end() ? 1 : found->second);
  }
  for (std::size_t i = 0; i < machine.topology().stripes.size(); ++i)
    lanes.emplace_back(machine.scheduler(), 1);
}

// ---- Job

Job::Job(const Decision& decision)
    : Job(decision->scenario, *decision->prepared, decision->tensors.at(0), decision->fates) {
  take(*decision);
}

Job::Job(const Decision& decision, std::size_t of)
    : Job(decision->scenario, decision->prepared->stages.at(of).model,
          decision->prepared->stages.at(of).program, decision->tensors.at(of), decision->fates,
          &decision->prepared->stages.at(of)) {
  take(*decision);
}

Job::Job(const description::Scenario& the_scenario, const Prepared& prepared, TensorTable table,
         const ActivationPlan& fates)
    : Job(the_scenario, prepared.model, prepared.program, std::move(table), fates, nullptr) {}

Job::Job(const Job& whole, TensorTable rows)
    : scenario(whole.scenario),
      model(whole.model),
      program(whole.program),
      tensors(std::move(rows)),
      subgroups(subgroups_of(tensors)),
      cached_modules(whole.cached_modules),
      replay(whole.replay),
      steps(whole.steps),
      shared(whole.shared),
      ranks(whole.ranks),
      stage(whole.stage) {}

void Job::take(const Decided& decided) {
  ranks = decided.ranks.get();
  if (!decided.cached_modules.empty()) cached_modules = &decided.cached_modules;
  if (!decided.replay.empty()) replay = &decided.replay;
}

Job::Job(const description::Scenario& the_scenario, const models::Model& the_model,
         const models::StepProgram& the_program, TensorTable table, const ActivationPlan& fates,
         const models::PipelineStage* of)
    : scenario(the_scenario),
      model(the_model),
      program(the_program),
      tensors(std::move(table)),
      activations(fates),
      subgroups(subgroups_of(tensors)),
      stage(of) {
  lay_out();
}

void Job::lay_out() {
  plans = plan_layers(model, program, tensors, activations,
                      stage ? stage->pieces : std::vector<models::StagePiece>());
  add_norm_copies(plans, scenario, tensors);
  if (activations.by_module) cut_into_modules(plans, model, program);
}

Group Job::gather_group(Rank rank, std::uint32_t weight) const {
  return of_experts(weight) ? expert_data_group(scenario, rank) : data_group(scenario, rank);
}

Group Job::reduce_group(Rank rank, std::uint32_t weight) const {
  return of_experts(weight) ? expert_reduce_group(scenario, rank)
                            : strategies::reduce_group(scenario, rank);
}

std::deque<Job> jobs_of(const Decision& decision) {
  std::deque<Job> jobs;
  if (decision->prepared->stages.empty()) jobs.emplace_back(decision);
  for (std::size_t stage = 0; stage < decision->prepared->stages.size(); ++stage)
    jobs.emplace_back(decision, stage);
  return jobs;
}

}  // namespace spillway::strategies
