#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "explore/outcomes.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/lifetimes_file.hpp"
#include "strategies/automatic.hpp"
#include "strategies/catalogue.hpp"
#include "strategies/planned_settings.hpp"
#include "strategies/planned_step.hpp"
#include "strategies/run.hpp"
#include "strategies/setup.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <memory>

namespace spillway::cli {

namespace {

using namespace strategies;
using planner::Lifetimes;
using planner::Plan;
using planner::PlanSettings;

struct Options {
  std::string file, machine, output;
  std::vector<std::string> overrides;
  std::uint32_t rank = 0;
  bool roofline = false, json = false;
};

/// A profile, and what its planner may use.
struct Question {
  Lifetimes lifetimes;
  PlanSettings settings;
};

/// From a scenario: the step of one of its ranks.
Question of_scenario(const Options& options) {
  const auto resolved = read(options.file, options.overrides);
  const Prepared prepared = prepare(resolved.scenario);
  const auto scenario = resolve_automatic(resolved.scenario, prepared);
  if (scenario.strategy.activations.policy != description::ActivationPolicy::plan)
    refuse("scenario", scenario.strategy.system + " plans nothing",
           "use --set strategy.system=teraio");
  const Job job(scenario, prepared.model, prepared.program);
  const MachineSetup setup = setup_for(scenario, false, false);
  const auto steps = plan_steps(job, setup.gpu);
  if (options.rank >= steps.size())
    refuse("--rank", "the scenario has " + std::to_string(steps.size()) + " ranks",
           "use a smaller number");
  return {steps[options.rank].lifetimes(),
          plan_settings(scenario, setup.topology, Rank{options.rank})};
}

/// From a profile: a machine says what its planner may use.
Question of_profile(const Options& options) {
  if (options.machine.empty())
    refuse("--machine", "a profile needs a machine to be planned for", "name one");
  const auto resolved =
      scenarios::read_scenario(nlohmann::json{{"model", "gpt2"},
                                              {"machine", options.machine},
                                              {"training", {{"precision", "fp32"}}},
                                              {"parallel", {{"zero_stage", 0}}},
                                              {"strategy", {{"system", "teraio"}}}},
                               options.overrides, explore::known_systems(), unsupported);
  const MachineSetup setup = setup_for(resolved.scenario, false, false);
  return {scenarios::read_lifetimes(options.file),
          plan_settings(resolved.scenario, setup.topology, Rank{options.rank})};
}

nlohmann::json answer(const Lifetimes& lifetimes, const Plan& plan) {
  nlohmann::json json = {{"intervals", plan.intervals},
                         {"moved", plan.moves.size()},
                         {"urgent_moves", plan.urgent_moves()},
                         {"bytes_to_ssd", plan.bytes_to(planner::Destination::ssd, lifetimes)},
                         {"bytes_to_host", plan.bytes_to(planner::Destination::host, lifetimes)},
                         {"ideal_s", plan.ideal_s},
                         {"step_s", plan.step_s},
                         {"feasible", !plan.shortage.has_value()},
                         {"partial", lifetimes.partial}};
  if (plan.shortage)
    json["infeasible"] = {{"kernel", lifetimes.kernels[plan.shortage->slot].name},
                          {"tensor_id", lifetimes.tensors[plan.shortage->tensor].id},
                          {"asked_bytes", plan.shortage->asked},
                          {"free_bytes", plan.shortage->free}};
  return json;
}

/// One channel each way of each rate, to memory without end: throughput over Ideal.
///   Source  TeraIO section 2.2, Fig. 3
nlohmann::json roofline(const Question& question) {
  nlohmann::json rows = nlohmann::json::array();
  for (const double gigabytes : {0, 2, 4, 8, 16, 24, 32, 48, 64}) {
    PlanSettings settings = question.settings;
    settings.channels = {};
    settings.channels.host_in = settings.channels.host_out = gigabytes * 1e9;
    settings.destinations.clear();
    if (gigabytes > 0) settings.destinations.push_back(planner::Destination::host);
    settings.host_limit.reset();
    const Plan plan = planner::plan_migrations(question.lifetimes, settings);
    rows.push_back({{"migration_bytes_per_s", gigabytes * 1e9},
                    {"feasible", !plan.shortage.has_value()},
                    {"step_s", plan.step_s},
                    {"over_ideal", plan.shortage ? 0.0 : plan.ideal_s / plan.step_s}});
  }
  return rows;
}

void show(const nlohmann::json& json) {
  if (!json.is_array()) {
    for (const auto& [name, value] : json.items())
      print(fmt::format("{:<16} {}\n", name, value.dump()));
    return;
  }
  print("GB/s each way   step s   share of ideal\n");
  for (const auto& row : json)
    print(row["feasible"].get<bool>()
              ? fmt::format("{:>13.0f} {:>8.4g} {:>16.3f}\n",
                            row["migration_bytes_per_s"].get<double>() / 1e9,
                            row["step_s"].get<double>(), row["over_ideal"].get<double>())
              : fmt::format("{:>13.0f}   does not fit\n",
                            row["migration_bytes_per_s"].get<double>() / 1e9));
}

void lifetimes(const Options& options) {
  const bool profile = options.file.ends_with(".csv");
  const Question question = profile ? of_profile(options) : of_scenario(options);
  if (question.lifetimes.partial) warn("the profile is partial: some ranges are guesses");
  if (!options.output.empty()) {
    const auto text = scenarios::write_lifetimes(question.lifetimes);
    write_file(options.output, text.tensors);
    write_file(scenarios::kernels_file(options.output), text.kernels);
  }
  const nlohmann::json json =
      options.roofline ? roofline(question)
                       : answer(question.lifetimes,
                                planner::plan_migrations(question.lifetimes, question.settings));
  if (options.json) return print_json(json);
  show(json);
}

}  // namespace

void add_lifetimes(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "lifetimes", "when tensors are used, and a plan of where they are meanwhile");
  verb->add_option("file", options->file, "scenario, or a profile (.csv, from `import` or -o)")
      ->required();
  verb->add_option("--machine", options->machine, "of a profile: shipped name or machine file");
  verb->add_option("--rank", options->rank, "pipeline stage; default: 0");
  verb->add_flag("--roofline", options->roofline,
                 "throughput over ideal against the migration rate of a GPU");
  verb->add_option("-o,--out,--output", options->output, "profile to write, its kernels beside it");
  verb->add_flag("--json", options->json, "the answer as JSON");
  add_set(*verb, options->overrides, "override one value of the scenario");
  verb->footer(
      "Example:\n  spillway lifetimes scenarios/examples/tiny.json --set "
      "strategy.system=teraio --roofline");
  verb->callback([options] { lifetimes(*options); });
}

}  // namespace spillway::cli
