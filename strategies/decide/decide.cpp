#include "strategies/decide/decide.hpp"

#include "strategies/decide/automatic.hpp"
#include "strategies/decide/lohan_plan.hpp"
#include "strategies/decide/migration_plans.hpp"
#include "strategies/decide/saved_planners.hpp"
#include "strategies/decide/settled_knobs.hpp"
#include "strategies/decide/tensors.hpp"
#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

namespace {

/// The decision, once what becomes of saved tensors is known.
Decision complete(Decided all, DecidedFates fates) {
  std::optional<description::Bytes>& swapped = all.scenario.strategy.activations.swap_bytes;
  if (all.scenario.strategy.activations.policy == description::ActivationPolicy::swap && !swapped &&
      !fates.report.is_null())
    swapped = description::Bytes(fates.report.at("swap_bytes").get<std::uint64_t>());
  all.fates = std::move(fates.activations);
  all.report = std::move(fates.report);
  all.notes = std::move(fates.notes);
  settle_knobs(all);
  if (plans_steps(all.scenario.strategy.system)) all.ranks = plan_ranks(all);
  return Decision(std::move(all));
}

Decided begin(description::Scenario scenario, std::shared_ptr<const Prepared> prepared,
              Tiers tiers) {
  Decided all;
  all.question = scenario;
  all.scenario = std::move(scenario);
  all.prepared = std::move(prepared);
  all.tensors = decide_tensors(all.scenario, *all.prepared);
  all.tiers = tiers;
  return all;
}

/// The decision, saved tensors included.
Decision with_fates(Decided all, const Probe& probe) {
  if (all.scenario.run.io_bench) return Decision(std::move(all));
  DecidedFates fates = decide_fates(all.scenario, *all.prepared, probe);
  return complete(std::move(all), std::move(fates));
}

}  // namespace

DecidedFates decide_fates(const description::Scenario& scenario, const Prepared& prepared,
                          const Probe& probe) {
  if (auto fates = fates_of_policy(scenario.strategy, prepared.model, prepared.program))
    return {std::move(*fates)};
  if (scenario.strategy.activations.policy != description::ActivationPolicy::swap)
    return plan_fates(scenario, prepared, probe);
  SwapChoice choice = choose_swap(scenario, prepared, probe);
  nlohmann::json report = swap_report(choice, prepared.program);
  return {std::move(choice.activations), std::move(report), {}};
}

Decision decide_given(description::Scenario scenario, std::shared_ptr<const Prepared> prepared,
                      ActivationPlan fates, Tiers tiers) {
  return complete(begin(std::move(scenario), std::move(prepared), tiers), {std::move(fates)});
}

Decision decide_settled(description::Scenario scenario, std::shared_ptr<const Prepared> prepared,
                        const Probe& probe, Tiers tiers, const Filled& filled) {
  Decided all = begin(std::move(scenario), std::move(prepared), tiers);
  all.filled = filled;
  return with_fates(std::move(all), probe);
}

description::Scenario as_asked(const Decided& decided) {
  description::Scenario scenario = decided.scenario;
  decided.question.at("strategy").get_to(scenario.strategy);
  return scenario;
}

Decision repeating(const Decision& decision, std::vector<Delays> delays) {
  Decided all = *decision;
  all.replay = std::move(delays);
  return Decision(std::move(all));
}

Decision decide(description::Scenario scenario, std::shared_ptr<const Prepared> prepared,
                const Probe& probe, Tiers tiers) {
  nlohmann::json question = scenario;
  Filled filled;
  if (!scenario.run.io_bench)
    scenario = resolve_automatic(std::move(scenario), *prepared, probe, &filled);
  Decided all = begin(std::move(scenario), std::move(prepared), tiers);
  all.question = std::move(question);
  all.filled = filled;
  return with_fates(std::move(all), probe);
}

}  // namespace spillway::strategies
