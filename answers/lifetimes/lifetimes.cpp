#include "answers/lifetimes/lifetimes.hpp"

#include "explore/outcome/best_plan.hpp"
#include "scenarios/reading/lifetimes_file.hpp"
#include "scenarios/reading/read_scenario.hpp"
#include "strategies/decide/automatic.hpp"
#include "strategies/decide/tensors.hpp"
#include "strategies/layout/planned_settings.hpp"
#include "strategies/layout/planned_step.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/run/counting_probe.hpp"

namespace spillway::answers {

using description::refuse;
using description::Scenario;
using strategies::Rank;
using strategies::planner::Destination;
using strategies::planner::Plan;
using strategies::planner::PlanSettings;
using strategies::planner::Shortage;

namespace {

const char* name_of(Shortage::Tier tier) {
  if (tier == Shortage::Tier::gpu) return "gpu";
  return tier == Shortage::Tier::host ? "host" : "ssd";
}

/// One channel each way of each rate.
std::vector<answer::RooflinePoint> roofline_of(const Profile& profile) {
  std::vector<answer::RooflinePoint> points;
  for (const double gigabytes : {0, 2, 4, 8, 16, 24, 32, 48, 64}) {
    PlanSettings settings = profile.settings;
    settings.channels = {};
    settings.channels.host_in = settings.channels.host_out = gigabytes * 1e9;
    settings.destinations.clear();
    if (gigabytes > 0) settings.destinations.push_back(Destination::host);
    settings.host_limit.reset();
    const Plan plan = strategies::planner::plan_migrations(profile.lifetimes, settings);
    const bool fits = !plan.shortage.has_value();
    points.push_back({gigabytes * 1e9, fits, plan.step_s, fits ? plan.ideal_s / plan.step_s : 0});
  }
  return points;
}

}  // namespace

TakenPlan taken_plan(const explore::Backend& backend, const Scenario& scenario) {
  if (scenario.strategy.activations.policy != description::ActivationPolicy::plan)
    return {scenario, ""};
  const strategies::Probe probe = strategies::counting_probe();
  const explore::DecidedRun own =
      explore::decide_and_run(backend, scenario, explore::WhenFull::stop, nullptr, probe);
  explore::BestPlan best(backend, scenario, own, probe);
  best.search(false);
  if (!best.found()) return {scenario, ""};
  Scenario taken = best.scenario();
  return {std::move(taken), best.finish().notes.back()};
}

Profile profile_of(const Scenario& asked, std::uint32_t rank) {
  const strategies::Prepared prepared = strategies::prepare(asked);
  const Scenario scenario =
      strategies::resolve_automatic(asked, prepared, strategies::counting_probe());
  if (scenario.strategy.activations.policy != description::ActivationPolicy::plan)
    refuse("scenario", scenario.strategy.system + " plans nothing",
           "use --set strategy.system=teraio");
  const strategies::Job job(scenario, prepared,
                            strategies::decide_tensors(scenario, prepared).at(0),
                            strategies::keep_everything(prepared.program));
  const strategies::MachineSetup setup = strategies::setup_for(scenario, false, false);
  const auto steps = strategies::plan_steps(job, setup.gpu);
  if (rank >= steps.size())
    refuse("--rank", "the scenario has " + std::to_string(steps.size()) + " ranks",
           "use a smaller number");
  return {steps[rank].lifetimes(), strategies::plan_settings(scenario, setup.topology, Rank{rank})};
}

Profile profile_of(const std::string& file, const std::string& machine,
                   const std::vector<std::string>& overrides, std::uint32_t rank) {
  if (machine.empty())
    refuse("--machine", "a profile needs a machine to be planned for", "name one");
  // The profile replaces the step of whatever model this is.
  const auto resolved = scenarios::read_scenario(
      nlohmann::json{{"model", "gpt2"},
                     {"machine", machine},
                     {"training", {{"precision", "fp32"}}},
                     {"parallel", {{"zero_stage", 0}}},
                     {"strategy", {{"system", "teraio"}}}},
      overrides, explore::known_systems(), scenarios::Refuse::what_cannot_run);
  const strategies::MachineSetup setup = strategies::setup_for(resolved.scenario, false, false);
  return {scenarios::read_lifetimes(file),
          strategies::plan_settings(resolved.scenario, setup.topology, Rank{rank})};
}

answer::MigrationPlan plan_lifetimes(const Profile& profile, bool roofline) {
  const strategies::planner::Lifetimes& lifetimes = profile.lifetimes;
  const Plan plan = strategies::planner::plan_migrations(lifetimes, profile.settings);
  answer::MigrationPlan all;
  all.tensors = lifetimes.tensors.size();
  all.kernels = lifetimes.kernels.size();
  all.partial = lifetimes.partial;
  all.intervals = plan.intervals;
  all.moved = plan.moves.size();
  all.urgent_moves = plan.urgent_moves();
  all.bytes_to_ssd = plan.bytes_to(Destination::ssd, lifetimes);
  all.bytes_to_host = plan.bytes_to(Destination::host, lifetimes);
  all.ideal_s = plan.ideal_s;
  all.step_s = plan.step_s;
  if (plan.shortage)
    all.infeasible = {lifetimes.kernels[plan.shortage->slot].name, name_of(plan.shortage->tier),
                      lifetimes.tensors[plan.shortage->tensor].id, plan.shortage->asked,
                      plan.shortage->free};
  if (roofline) all.roofline = roofline_of(profile);
  return all;
}

}  // namespace spillway::answers
