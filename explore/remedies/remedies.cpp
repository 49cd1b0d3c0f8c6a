#include "explore/remedies/remedies.hpp"

#include "explore/outcome/runs_with.hpp"
#include "explore/remedies/changes.hpp"
#include "reports/result/way.hpp"
#include "strategies/systems/catalogue.hpp"

namespace spillway::explore {

using description::Scenario;

namespace {

/// Pieces of a batch that a remedy of two changes tries at most: each costs a pass to simulate.
constexpr std::uint64_t most_pieces = 32;
/// What asks more of a user has to be so many times as fast.
constexpr double worth_more = 1.1;

/// Tokens per second, less where a trainer has to bring what few of DeepSpeed's do: checkpoints in
/// host memory, which those of Hugging Face keep on the GPU.
double merit_of(const result::Result& result) {
  constexpr double worth_asking = 1.05;
  return result::needs_deepspeed_checkpointing(result) ? result.tokens_per_s / worth_asking
                                                       : result.tokens_per_s;
}

/// The changes of which the best are kept, group by group.
class Search {
 public:
  Search(const Backend& backend, const Resolve& resolve, double enough)
      : backend_(backend), resolve_(resolve), enough_(enough) {}

  /// The next group of changes, which bounds and what was found before may leave out.
  ///   for_programs  those alone that a program runs
  void take(const std::vector<Change>& changes, bool for_programs = false) {
    Group runnable, others;
    for (const Change& change : changes) {
      if (!backend_.goes_on()) break;
      auto scenario = resolve_(change.overrides);
      if (!scenario) continue;
      Group& group = runs_with(*scenario).runnable ? runnable : others;
      group.changes.push_back(&change);
      group.scenarios.push_back(std::move(*scenario));
    }
    const FittingChanges before = found_;
    simulate(runnable, before.runnable, before);
    if (!for_programs) simulate(others, before.best, before);
  }

  /// The same of changes that give up the system: once there is a best one, they are for programs.
  void take_others(const std::vector<Change>& changes) {
    const std::optional<Remedy> own = found_.best;
    take(changes, own.has_value());
    if (own) found_.best = own;
  }

  /// Whether a program runs the best, and nothing could take its place.
  bool done() const {
    return any_runnable() && found_.best->result.runs_with->runnable &&
           worth_more * found_.best->result.tokens_per_s > enough_;
  }
  /// What a program runs takes the place of the best that is hardly faster.
  void prefer_runnable() {
    constexpr double hardly = 1.02;
    if (any_runnable() &&
        found_.best->result.tokens_per_s <= hardly * found_.runnable->result.tokens_per_s)
      found_.best = found_.runnable;
  }

  bool any() const { return found_.best.has_value(); }
  bool any_runnable() const { return found_.runnable.has_value(); }
  FittingChanges found() { return std::move(found_); }

 private:
  /// Changes, and the scenario with each.
  struct Group {
    std::vector<const Change*> changes;
    std::vector<Scenario> scenarios;
  };

  /// `rival`: what they have to be faster than.
  void simulate(const Group& group, const std::optional<Remedy>& rival,
                const FittingChanges& before) {
    Effort effort;
    if (rival) effort.least_tokens_per_s = worth_more * rival->result.tokens_per_s;
    const std::vector<Outcome> outcomes =
        simulate_all(backend_, group.scenarios, 0, default_limit_s, effort);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const auto& result = outcomes[i].result;
      if (!result || !result->feasible()) continue;
      const Remedy remedy{group.changes[i]->words, group.changes[i]->overrides, *result};
      keep_better(remedy, before.best, found_.best);
      if (result->runs_with->runnable) keep_better(remedy, before.runnable, found_.runnable);
    }
  }

  /// Of one group the best, the first of equal ones; and of the group before, unless it is much
  /// faster.
  static void keep_better(const Remedy& remedy, const std::optional<Remedy>& before,
                          std::optional<Remedy>& kept) {
    const double rate = remedy.result.tokens_per_s;
    if (before && rate < worth_more * before->result.tokens_per_s) return;
    if (!kept || merit_of(remedy.result) > merit_of(kept->result)) kept = remedy;
  }

  const Backend& backend_;
  const Resolve& resolve_;
  const double enough_;  ///< tokens per second
  FittingChanges found_;
};

/// The first of `batches`, the largest, that fits. Memory does not depend on how many pieces follow
/// the second one: so many are simulated.
void add_largest_batch(const Backend& backend, const std::vector<Change>& batches,
                       const Resolve& resolve, std::vector<Change>& changes) {
  for (const Change& change : batches) {
    if (!backend.goes_on()) return;
    auto trial = resolve(change.overrides);
    if (!trial) continue;
    std::uint64_t& pieces = trial->training.gradient_accumulation;
    pieces = std::min<std::uint64_t>(pieces, 2);
    const Outcome outcome = simulate_all(backend, std::span(&*trial, 1)).front();
    if (outcome.result && outcome.result->feasible()) return changes.push_back(change);
  }
}

/// Pairs of settings that help each other.
std::vector<Change> pairs_of(const Settings& settings, const std::vector<Change>& batches) {
  std::vector<Change> pairs;
  add_pairs(settings.passes, settings.updates, pairs);
  add_pairs(settings.fused, settings.passes, pairs);
  add_pairs(settings.fused, settings.updates, pairs);
  add_pairs(batches, settings.all(), pairs);
  return pairs;
}

std::vector<Change> paired(const std::vector<Change>& first, const std::vector<Change>& others) {
  std::vector<Change> pairs;
  add_pairs(first, others, pairs);
  return pairs;
}

bool any_system(const strategies::System&) { return true; }
/// Those that plan each tensor take as long to simulate as all others together.
bool runs(const strategies::System& system) {
  return runs_with(system).runnable && !strategies::plans_steps(system.name);
}

std::vector<Change> systems_that(const Scenario& scenario,
                                 bool (*taken)(const strategies::System&)) {
  std::vector<Change> systems;
  add_other_systems(scenario, taken, systems);
  return systems;
}

/// Other systems, and those that a program runs also with their weights nearer to the GPU than they
/// have them.
std::vector<Change> with_nearer_weights(std::vector<Change> systems, const Resolve& resolve) {
  std::vector<Change> nearer;
  for (const Change& system : systems) {
    const auto changed = resolve(system.overrides);
    if (!changed || !runs_with(*changed).runnable) continue;
    std::vector<Change> weights;
    for (const auto home : {description::Home::host, description::Home::gpu})
      add_nearer_weights(*changed, home, weights);
    add_pairs({system}, weights, nearer);
  }
  systems.insert(systems.end(), nearer.begin(), nearer.end());
  return systems;
}

}  // namespace

FittingChanges fitting_changes(const Backend& backend, const Scenario& scenario,
                               const Resolve& resolve, double without_loss) {
  const Settings settings = settings_of(scenario);
  std::vector<Change> singles = settings.all(), batches, smaller, parts;
  add_smaller_batches(scenario, scenario.training.micro_batch, smaller);
  add_largest_batch(backend, smaller, resolve, singles);
  add_smaller_batches(scenario, most_pieces, batches);
  add_smaller_parts(scenario, parts);
  Search search(backend, resolve, without_loss);
  search.take(singles);
  if (search.done()) return search.found();
  search.take(parts);
  search.take(pairs_of(settings, batches));
  if (!search.any()) search.take(paired(parts, settings.with(batches)));
  search.prefer_runnable();
  if (search.any_runnable()) return search.found();
  const auto others = [&] { return systems_that(scenario, search.any() ? runs : any_system); };
  search.take_others(with_nearer_weights(others(), resolve));
  if (!search.any_runnable()) search.take_others(paired(others(), settings.with(batches)));
  return search.found();
}

}  // namespace spillway::explore
