#include "answers/fit/change.hpp"

#include "answers/fit/outlay.hpp"
#include "answers/fit/purchase.hpp"
#include "explore/outcome/runs_with.hpp"
#include "explore/outcome/started_today.hpp"
#include "explore/remedies/free_settings.hpp"
#include "explore/trials/ways.hpp"
#include "reports/result/way.hpp"
#include "scenarios/description/quantity.hpp"
#include "strategies/systems/catalogue.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>

namespace spillway::answers {

using description::Scenario;
using nlohmann::json;

namespace {

constexpr const char* micro_batch_key = "training.micro_batch=";

/// A change below that is none.
constexpr double worth_saying = 1.02;

struct Step {
  std::string words;
  std::vector<std::string> set;
  std::uint64_t micro_batch = 0;  ///< smaller than asked for, where that did not fit; 0: as asked
  /// By these it is narrowed where it has no room, as `fit` does with its ways; null: it is not.
  const Wishes* narrowed_by = nullptr;
};

Step with_way(const Step& step, const explore::Way& way) {
  Step both{step.words + " and " + way.name, step.set, step.micro_batch, step.narrowed_by};
  both.set.insert(both.set.end(), way.overrides.begin(), way.overrides.end());
  return both;
}

Step with_system(const Step& step, const strategies::System& system) {
  return with_way(step, {system.name, {explore::started_today(system)}});
}

bool names_system(const Step& step) {
  return std::any_of(step.set.begin(), step.set.end(),
                     [](const std::string& one) { return one.starts_with("strategy="); });
}

/// The other systems of which each step has its updates, but for those that plan for each tensor.
///   wishes  only the systems that they name; none: all
std::vector<const strategies::System*> other_systems(const Scenario& now, const Wishes& wishes) {
  const std::vector<std::string>& only = wishes.systems;
  std::vector<const strategies::System*> others;
  for (const strategies::System& system : strategies::catalogue())
    if (system.name != now.strategy.system && system.defaults().optimizer.staleness == 0 &&
        !strategies::plans_steps(system.name) &&
        (only.empty() || std::find(only.begin(), only.end(), system.name) != only.end()))
      others.push_back(&system);
  return others;
}

bool keeps_states_in_memory(const strategies::System& system) {
  const description::Strategy parts = system.defaults();
  return parts.optimizer.home == description::Home::host &&
         parts.optimizer.device == description::OptimizerDevice::cpu;
}

/// Sizes of host memory that the board takes, from the next one to the first that is four times
/// today's; where no board is known the next, and those of two, three and four times as much.
std::vector<std::uint64_t> larger_memory_of(const description::MachineFile& machine) {
  const std::uint64_t today = machine.host.memory.value();
  std::vector<std::uint64_t> sizes;
  if (const auto* board = board_of(machine)) {
    for (const description::Bytes size : board->memory)
      if (size.value() > today && (sizes.empty() || sizes.back() < 4 * today))
        sizes.push_back(size.value());
    return sizes;
  }
  for (const std::uint64_t least : {today + 1, 2 * today, 3 * today, 4 * today})
    if (const std::uint64_t size = host_memory_for(machine, least);
        size > (sizes.empty() ? today : sizes.back()))
      sizes.push_back(size);
  return sizes;
}

/// Of a trainer's own loop that lets nothing wait in host memory: the same where saved tensors do.
std::optional<explore::Way> offloading_way(const Scenario& now) {
  if (now.strategy.activations.policy == description::ActivationPolicy::offload)
    return std::nullopt;
  for (const explore::Way& way : explore::ways_of({now.strategy.system}, {"none"}))
    if (way.name.ends_with(result::with_offloading)) return way;
  return std::nullopt;
}

/// The step with each other system.
///   in_memory  of those that keep their states in host memory, or of those that do not
void add_systems(const Step& step, bool in_memory, const Scenario& now, const Wishes& wishes,
                 std::vector<Step>& steps) {
  for (const strategies::System* system : other_systems(now, wishes)) {
    if (keeps_states_in_memory(*system) != in_memory) continue;
    steps.push_back(with_system(step, *system));
    steps.back().narrowed_by = &wishes;
  }
}

void add_memory(const Scenario& now, const Wishes& wishes, std::vector<Step>& steps) {
  const description::MachineFile& machine = now.machine;
  if (machine.gpu.one_memory) return;
  const std::optional<explore::Way> offloading = offloading_way(now);
  if (offloading) steps.push_back({offloading->name, offloading->overrides});  // costs nothing
  for (const std::uint64_t size : larger_memory_of(machine)) {
    const std::string more = description::to_text(description::Bytes(size));
    const Step memory{more + " of host memory", {"machine.host.memory=\"" + more + "\""}};
    steps.push_back(memory);
    if (offloading) steps.push_back(with_way(memory, *offloading));
    add_systems(memory, true, now, wishes, steps);
  }
}

void add_drive(const Scenario& now, const Wishes& wishes, std::vector<Step>& steps) {
  for (const description::StorageSpec& storage : now.machine.storage) {
    if (storage.kind != description::StorageKind::ssd) continue;
    const Step drive{"one more drive on " + storage.name,
                     {fmt::format("machine.storage.{}.count={}", storage.name, storage.count + 1)}};
    steps.push_back(drive);
    add_systems(drive, false, now, wishes, steps);
    return;
  }
}

void add_boards(const Scenario& now, std::vector<Step>& steps) {
  for (Purchase& board : dearer_boards(now.machine))
    steps.push_back({std::move(board.words), std::move(board.set)});
}

std::vector<Step> steps_from(const Scenario& now, const Wishes& wishes) {
  std::vector<Step> steps;
  add_memory(now, wishes, steps);
  add_drive(now, wishes, steps);
  add_boards(now, steps);
  // how many cards go into a machine without a board of the list is not known
  if (now.parallel.tensor == 1 && now.parallel.pipeline == 1 && now.machine.nodes == 1 &&
      board_of(now.machine))
    steps.push_back({"one more card",
                     {fmt::format("machine.gpu.count={}", now.machine.gpu.count + 1),
                      fmt::format("parallel.data={}", now.parallel.data + 1)}});
  return steps;
}

/// More samples a step are said where they bring so much.
constexpr double worth_more_samples = 1.1;

/// Another system is named where it is so much faster.
constexpr double worth_another_system = 1.05;

std::uint64_t samples_of(const Scenario& scenario) {
  return scenario.training.micro_batch * scenario.training.gradient_accumulation *
         scenario.parallel.data;
}

/// Other systems beside `more`.
std::vector<Step> others_with(const std::string& more, const Scenario& now, const Wishes& wishes) {
  std::vector<Step> steps;
  for (const strategies::System* system : other_systems(now, wishes))
    steps.push_back({system->name, {more, explore::started_today(*system)}, 0, &wishes});
  return steps;
}

/// The scenarios of steps that people can run; the others are dropped from `steps`.
std::vector<Scenario> runnable_of(const result::Result& answer, std::vector<Step>& steps) {
  const std::vector<scenarios::SystemInfo> systems = explore::known_systems();
  std::vector<Scenario> scenarios;
  std::erase_if(steps, [&](const Step& step) {
    try {
      Scenario changed = scenarios::read_scenario(answer.scenario, step.set, systems,
                                                  scenarios::Refuse::what_cannot_run)
                             .scenario;
      if (!explore::runs_with(changed).runnable) return true;
      scenarios.push_back(std::move(changed));
      return false;
    } catch (const description::ScenarioError&) {
      return true;  // this step does not go with the scenario; the others may
    }
  });
  return scenarios;
}

/// A way to change the answer, and what it trains; 0 tokens per second: it does not fit.
struct TriedStep {
  Step step;
  std::uint64_t samples = 0;  ///< of a step
  double tokens_per_s = 0;
  std::optional<double> price_usd{};   ///< of the machine with it
  std::optional<double> outlay_usd{};  ///< to be paid for it

  double outlay() const { return outlay_usd.value_or(std::numeric_limits<double>::infinity()); }
};

bool sets_micro_batch(const std::string& set) { return set.starts_with(micro_batch_key); }

Step with_micro_batch(Step step, std::uint64_t micro_batch) {
  std::erase_if(step.set, sets_micro_batch);
  step.micro_batch = micro_batch;
  step.set.push_back(micro_batch_key + std::to_string(micro_batch));
  return step;
}

/// The step with the next smaller power of two as micro-batch; nothing: that is one sample.
std::optional<Step> smaller_batch(const Step& step, const Scenario& scenario) {
  if (scenario.training.micro_batch == 1) return std::nullopt;
  return with_micro_batch(step, std::bit_floor(scenario.training.micro_batch - 1));
}

/// The step with the micro-batch of the answer and smaller gradients, each time smaller ones;
/// nothing where they are as small as they get, or the user says how they are kept.
std::optional<Step> smaller_gradients(Step step, const Scenario& scenario) {
  if (!step.narrowed_by) return std::nullopt;
  const auto smaller = explore::smaller_gradients_of(scenario, step.narrowed_by->overrides);
  if (smaller.empty()) return std::nullopt;
  std::erase_if(step.set, sets_micro_batch);
  step.micro_batch = 0;
  const std::vector<std::string>& set = smaller.front().overrides;
  step.words += explore::parts_in_name(set);
  step.set.insert(step.set.end(), set.begin(), set.end());
  return step;
}

/// What is tried of a step that has no room; nothing: that was all.
std::optional<Step> next_of(const Step& step, const Scenario& scenario) {
  if (auto fewer = smaller_batch(step, scenario)) return fewer;
  return smaller_gradients(step, scenario);
}

/// Of those steps that people can run the ones that fit; `others` gets what is tried of those that
/// do not.
std::vector<TriedStep> all_of(const explore::Backend& backend, const result::Result& answer,
                              std::vector<Step> steps, std::uint64_t& simulated,
                              std::vector<Step>& others) {
  std::vector<Scenario> scenarios = runnable_of(answer, steps);
  // several micro-batches a step settle within it, and a first step is half the work of two
  for (Scenario& scenario : scenarios)
    if (scenario.training.gradient_accumulation > 1) scenario.run.warmup_steps = 0;
  const auto outcomes = explore::simulate_all(backend, scenarios);
  simulated += scenarios.size();
  const description::MachineFile now = explore::scenario_of(answer).machine;
  std::vector<TriedStep> tried;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (const auto& result = outcomes[i].result; result && result->feasible())
      tried.push_back({steps[i], samples_of(scenarios[i]), result->tokens_per_s, result->price_usd,
                       outlay_usd(now, scenarios[i].machine)});
    else if (auto next = next_of(steps[i], scenarios[i]); next && result)
      others.push_back(std::move(*next));
  return tried;
}

/// The steps that fit, each with the largest micro-batch from the asked one down by halves, and
/// where none has room with smaller gradients.
std::vector<TriedStep> all_that_fit(const explore::Backend& backend, const result::Result& answer,
                                    std::vector<Step> steps, std::uint64_t& simulated) {
  std::vector<TriedStep> fitting;
  while (!steps.empty()) {
    std::vector<Step> others;
    const std::vector<TriedStep> tried =
        all_of(backend, answer, std::move(steps), simulated, others);
    fitting.insert(fitting.end(), tried.begin(), tried.end());
    steps = std::move(others);
  }
  return fitting;
}

/// A step that fits with a power of two as micro-batch: with what fits between that and the next
/// one that did not, where that is faster.
///   asked  micro-batch that was tried first
TriedStep between_powers(const explore::Backend& backend, const result::Result& answer,
                         TriedStep best, std::uint64_t asked, std::uint64_t& simulated) {
  std::uint64_t fits = best.step.micro_batch, too_large = std::min(asked, 2 * fits);
  while (fits > 0 && too_large > fits + 1) {
    const std::uint64_t middle = (fits + too_large) / 2;
    std::vector<Step> smaller;
    const std::vector<TriedStep> tried =
        all_of(backend, answer, {with_micro_batch(best.step, middle)}, simulated, smaller);
    (tried.empty() ? too_large : fits) = middle;
    if (!tried.empty() && tried.front().tokens_per_s > best.tokens_per_s) best = tried.front();
  }
  return best;
}

/// A step that fits with the micro-batch that was tried first: with twice, four times and so on as
/// many samples, and with what lies between, as long as that is faster.
///   asked  that micro-batch
TriedStep with_more_samples(const explore::Backend& backend, const result::Result& answer,
                            TriedStep best, std::uint64_t asked, std::uint64_t& simulated) {
  constexpr std::uint64_t most = 32;
  std::uint64_t next = 2 * asked;
  for (; next <= most; next *= 2) {
    std::vector<Step> smaller;
    const std::vector<TriedStep> tried =
        all_of(backend, answer, {with_micro_batch(best.step, next)}, simulated, smaller);
    if (tried.empty() || tried.front().tokens_per_s <= best.tokens_per_s) break;
    best = tried.front();
  }
  if (next > most) return best;
  TriedStep from = best;
  if (from.step.micro_batch == 0) from.step = with_micro_batch(from.step, asked);
  const TriedStep between = between_powers(backend, answer, from, next, simulated);
  return between.tokens_per_s > best.tokens_per_s ? between : best;
}

/// How many micro-batches before each update are tried; 1: a step has several already, or updates
/// take too little of it to be worth saving.
std::uint64_t micro_batches_worth_trying(const result::Result& answer, const Scenario& now) {
  if (now.training.gradient_accumulation > 1) return 1;
  const double without_updates = answer.step_time_s - answer.update_s;
  if (answer.step_time_s < worth_more_samples * without_updates) return 1;
  const std::uint64_t of_each = most_of_all_cards / now.machine.gpus();
  return std::clamp<std::uint64_t>(of_each, 1, many_micro_batches);
}

std::string accumulation_of(std::uint64_t micro_batches) {
  return fmt::format("training.gradient_accumulation={}", micro_batches);
}

/// Of those the fastest.
TriedStep fastest_of(const explore::Backend& backend, const result::Result& answer,
                     std::vector<Step> steps, std::uint64_t& simulated) {
  TriedStep best;
  for (const TriedStep& one : all_that_fit(backend, answer, std::move(steps), simulated))
    if (one.tokens_per_s > best.tokens_per_s) best = one;
  return best;
}

}  // namespace

std::optional<MoreSamples> more_samples(const explore::Backend& backend,
                                        const result::Result& answer, const Wishes& wishes,
                                        std::uint64_t& simulated) {
  const Scenario now = explore::scenario_of(answer);
  const std::uint64_t times = micro_batches_worth_trying(answer, now);
  if (times < 2) return std::nullopt;
  const std::string set = accumulation_of(times);
  TriedStep best = fastest_of(backend, answer, {{"", {set}, 0, &wishes}}, simulated);
  if (!best.step.words.empty()) best.step.words.insert(0, result::way_of(answer));
  // with fewer updates another system may be the fastest, or the only one with room for gradients
  const TriedStep other = fastest_of(backend, answer, others_with(set, now, wishes), simulated);
  if (other.tokens_per_s > worth_another_system * best.tokens_per_s) best = other;
  best = between_powers(backend, answer, best, now.training.micro_batch, simulated);
  if (best.tokens_per_s < worth_more_samples * answer.tokens_per_s) return std::nullopt;
  return MoreSamples{best.step.words, times,         best.step.micro_batch, best.samples,
                     samples_of(now), best.step.set, best.tokens_per_s,     std::nullopt};
}

namespace {

/// Of those that come near the fastest the one with the least outlay, of equal ones the fastest.
const TriedStep* worth_its_price(const std::vector<TriedStep>& tried, double least) {
  constexpr double near = 0.95;
  double most = least;
  for (const TriedStep& one : tried) most = std::max(most, one.tokens_per_s);
  const TriedStep* best = nullptr;
  for (const TriedStep& one : tried) {
    if (one.tokens_per_s <= least || one.tokens_per_s < near * most) continue;
    const bool cheaper = !best || one.outlay() < best->outlay();
    if (cheaper || (one.outlay() == best->outlay() && one.tokens_per_s > best->tokens_per_s))
      best = &one;
  }
  return best;
}

/// Of the steps the one worth its price, with the best micro-batch that fits.
///   wishes  may say which micro-batch that is
///   least   tokens per second that it has to bring
///   Result  nothing where none does
std::optional<TriedStep> best_of(const explore::Backend& backend, const result::Result& answer,
                                 std::vector<Step> steps, const Wishes& wishes, double least,
                                 std::uint64_t& simulated) {
  const std::vector<TriedStep> tried = all_that_fit(backend, answer, std::move(steps), simulated);
  const TriedStep* worth = worth_its_price(tried, least);
  if (!worth) return std::nullopt;
  const std::uint64_t asked = explore::scenario_of(answer).training.micro_batch;
  if (worth->step.micro_batch > 0) return between_powers(backend, answer, *worth, asked, simulated);
  if (explore::name_path(wishes.overrides, "training.micro_batch")) return *worth;
  return with_more_samples(backend, answer, *worth, asked, simulated);
}

/// The steps with as many micro-batches as `more` has, and from the answer's micro-batch on. What
/// names no system of its own has that of `more`, with the parts that it swaps.
std::vector<Step> beside(const std::optional<MoreSamples>& more, const Scenario& now,
                         std::vector<Step> steps) {
  if (!more) return steps;
  for (Step& step : steps) {
    if (!more->system.empty() && !names_system(step)) {
      step.words += " and " + more->system;
      std::copy_if(more->set.begin(), more->set.end(), std::back_inserter(step.set),
                   [](const std::string& one) { return one.starts_with("strategy"); });
    }
    step.set.insert(step.set.begin(), more->set.begin(), more->set.end());
    if (more->micro_batch > 0)
      step.set.push_back(fmt::format("training.micro_batch={}", now.training.micro_batch));
  }
  return steps;
}

/// What one would buy where more samples a step need it: today's machine has no room for their
/// gradients, or they bring nothing there.
///   least   tokens per second that it has to bring
///   Result  nothing where none does
std::optional<FitChange> change_for_more_samples(const explore::Backend& backend,
                                                 const result::Result& answer, const Wishes& wishes,
                                                 double least, std::uint64_t& simulated) {
  const Scenario today = explore::scenario_of(answer);
  const std::uint64_t times = micro_batches_worth_trying(answer, today);
  if (times < 2) return std::nullopt;
  std::vector<Step> steps = steps_from(today, wishes);
  for (Step& step : steps) {
    step.set.push_back(accumulation_of(times));
    step.narrowed_by = nullptr;  // sums of many micro-batches lose in 16 bits
  }
  const auto best = best_of(backend, answer, std::move(steps), wishes, least, simulated);
  if (!best) return std::nullopt;
  const std::string of =
      best->step.micro_batch > 0 ? fmt::format(" of {}", best->step.micro_batch) : "";
  return FitChange{fmt::format("{} with {} micro-batches{} before each update, {} samples a step "
                               "in place of {}",
                               best->step.words, times, of, best->samples, samples_of(today)),
                   best->step.set,
                   best->tokens_per_s,
                   best->price_usd,
                   {},
                   best->outlay_usd};
}

FitChange change_of(const TriedStep& step) {
  FitChange change{step.step.words, step.step.set, step.tokens_per_s, step.price_usd, {},
                   step.outlay_usd};
  if (step.step.micro_batch > 0)
    change.words += fmt::format(" and micro-batch {}", step.step.micro_batch);
  return change;
}

/// What brings most with as many samples a step as today.
std::optional<FitChange> change_today(const explore::Backend& backend, const result::Result& answer,
                                      const Wishes& wishes, std::uint64_t& simulated) {
  const auto best = best_of(backend, answer, steps_from(explore::scenario_of(answer), wishes),
                            wishes, answer.tokens_per_s * worth_saying, simulated);
  if (!best) return std::nullopt;
  return change_of(*best);
}

}  // namespace

std::optional<FitChange> best_change(const explore::Backend& backend, const result::Result& answer,
                                     const Wishes& wishes, std::optional<MoreSamples>& more,
                                     std::uint64_t& simulated) {
  const Scenario today = explore::scenario_of(answer);
  const double now = more ? more->tokens_per_s : answer.tokens_per_s;
  const auto best = best_of(backend, answer, beside(more, today, steps_from(today, wishes)), wishes,
                            now * worth_saying, simulated);
  if (!more) {
    const double least = worth_more_samples * (best ? best->tokens_per_s : now);
    if (auto change = change_for_more_samples(backend, answer, wishes, least, simulated))
      return change;
  }
  if (!best && more) return change_today(backend, answer, wishes, simulated);
  if (!best) return std::nullopt;
  FitChange change = change_of(*best);
  if (!more) return change;
  more->changed_tokens_per_s = best->tokens_per_s;
  for (const std::string& beside_it : more->set) {
    // a micro-batch that the change has of its own is the last word on it
    if (best->step.micro_batch > 0 && beside_it.starts_with(micro_batch_key)) continue;
    if (const auto one = std::find(change.set.begin(), change.set.end(), beside_it);
        one != change.set.end())
      change.set.erase(one);
  }
  std::vector<Step> smaller;
  const std::vector<TriedStep> alone =
      all_of(backend, answer, {{change.words, change.set}}, simulated, smaller);
  change.tokens_per_s.reset();
  if (!alone.empty() && alone.front().tokens_per_s > answer.tokens_per_s)
    change.tokens_per_s = alone.front().tokens_per_s;
  return change;
}

}  // namespace spillway::answers
