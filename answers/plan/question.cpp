#include "answers/plan/question.hpp"

#include "answers/simulate/simulate.hpp"
#include "explore/outcome/runs_with.hpp"
#include "explore/trials/expert_ways.hpp"
#include "explore/trials/spread.hpp"
#include "scenarios/deepspeed/trainer.hpp"
#include "scenarios/document/box.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/shipped.hpp"
#include "scenarios/reading/read_model.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <numeric>

namespace spillway::answers {

using explore::Way;
using nlohmann::json;

std::uint64_t sample_tokens(const std::optional<std::uint64_t>& asked, const std::string& model) {
  if (asked) return *asked;
  constexpr std::uint64_t usual = 4096;
  const std::uint64_t longest = scenarios::read_model(model).max_positions;
  return longest > 0 ? std::min(usual, longest) : usual;
}

json plan_base(const PlanQuestion& question, const std::string& model) {
  json run = {{"warmup_steps", 1}, {"steps", 1}};
  if (question.tokens) run["tokens"] = *question.tokens;
  return {{"model", model},
          {"machine", question.machine},
          {"training",
           scenarios::plain_training(question.precision, sample_tokens(question.sequence, model))},
          {"strategy", {{"system", "zero_infinity"}}},
          {"run", std::move(run)}};
}

void add_overrides(std::vector<answer::Trial>& trials, const PlanQuestion& question) {
  for (answer::Trial& trial : trials)
    trial.overrides.insert(trial.overrides.end(), question.overrides.begin(),
                           question.overrides.end());
}

bool may_run(const WayOptions& options, const json& base, const Way& way,
             const std::vector<std::string>& split, const std::vector<std::string>& overrides) {
  if (!options.runnable) return true;
  static const std::vector<scenarios::SystemInfo> systems = explore::known_systems();
  std::vector<std::string> all = way.overrides;
  for (const auto* more : {&split, &overrides}) all.insert(all.end(), more->begin(), more->end());
  try {
    return explore::runs_with(scenarios::read_scenario(base, all, systems).scenario).runnable;
  } catch (const description::ScenarioError&) {
    return true;  // whoever simulates it says what is wrong
  }
}

std::vector<Way> runnable_ways(const WayOptions& options, const json& base,
                               const std::vector<std::string>& overrides) {
  std::vector<Way> ways = explore::ways_of(options.systems, options.mixes, base, overrides);
  if (!options.runnable) return ways;
  std::erase_if(ways, [&](const Way& way) { return !may_run(options, base, way, {}, overrides); });
  if (ways.empty())
    throw description::ScenarioError(
        {{"command line", 0, 0, "--runnable",
          "no maintained program trains with any of these systems and parts",
          "spillway systems says what runs with which"}});
  return ways;
}

std::vector<Split> splits_of(const PlanQuestion& question) {
  const json base = plan_base(question, question.models.front());
  const scenarios::Document document =
      scenarios::assemble(scenarios::located_at(base, {}), question.overrides);
  const json* data = document.scenario.find("/parallel/data");
  const bool said = document.scenario.find("/parallel") != nullptr;
  if (said || !document.machine.present)  // whoever reads the scenario says what is wrong
    return {{"", {}, data && data->is_number_unsigned() ? data->get<std::uint64_t>() : 1}};
  const json& machine = document.machine.json.value;
  const auto count = [](const json& of, const char* key) {
    return of.is_object() && of.contains(key) && of[key].is_number_unsigned()
               ? of[key].get<std::uint64_t>()
               : 1;
  };
  const std::uint64_t nodes = count(machine, "nodes");
  const std::uint64_t own = machine.contains("gpu") ? count(machine["gpu"], "count") : 1;
  std::vector<Split> splits;
  const auto add = [&splits](const explore::CardSplit& split) {
    splits.push_back({split.name(), split.overrides(), split.data});
  };
  std::vector<explore::CardSplit> all = explore::splits_of_layers(nodes, own);
  all.insert(all.begin(), {.data = nodes * own});
  const std::uint64_t experts = scenarios::read_model(question.models.front()).experts;
  for (const explore::CardSplit& split : explore::splits_of_experts(all, own, experts))
    all.push_back(split);
  for (const explore::CardSplit& split : all) add(split);
  return splits;
}

std::vector<BatchSplit> batches_of(const WayOptions& options, std::uint64_t data) {
  std::vector<BatchSplit> splits;
  const auto add = [&](std::uint64_t batch, std::uint64_t accumulation) {
    splits.push_back({fmt::format(", micro-batch {}", batch) +
                          (accumulation == 1 ? "" : fmt::format(" x {}", accumulation)),
                      {fmt::format("training.micro_batch={}", batch),
                       fmt::format("training.gradient_accumulation={}", accumulation)}});
  };
  std::vector<std::uint64_t> batches = options.batches;
  if (options.global_batch > 0 && batches == usual_batches) {  // every one that divides them
    batches.resize(usual_batches.back());
    std::iota(batches.begin(), batches.end(), 1);
  }
  for (const std::uint64_t batch : batches) {
    if (options.global_batch == 0)
      for (const std::uint64_t accumulation : options.accumulations) add(batch, accumulation);
    else if (options.global_batch % (batch * data) == 0)
      add(batch, options.global_batch / (batch * data));
  }
  return splits;
}

void try_or_refuse(const explore::Backend& backend, const json& base,
                   std::vector<answer::Trial>& trials) {
  if (const auto wrong = try_all(backend, base, trials)) throw *wrong;
}

void try_one(const explore::Backend& backend, const json& base, answer::Trial& trial,
             answer::TrialCounts& counts) {
  std::vector<answer::Trial> again = {{trial.words, trial.overrides, std::nullopt, ""}};
  try_or_refuse(backend, base, again);
  if (again.front().not_tried) return;
  trial = std::move(again.front());
  --counts.ruled_out;
  ++counts.simulated;
  counts.unanswered += trial.unanswered;
}

void keep_first_refusal(std::vector<answer::Trial>& trials) {
  const auto again = [](const answer::Trial& one, const answer::Trial& next) {
    return one.refused && next.refused;
  };
  trials.erase(std::unique(trials.begin(), trials.end(), again), trials.end());
}

namespace {

/// A name that a machine has may be that of the one it was made of.
bool is_shipped(const std::string& name, const json& machine) {
  const auto shipped = scenarios::shipped_names("scenarios/machines");
  return std::find(shipped.begin(), shipped.end(), name) != shipped.end() &&
         json(scenarios::read_machine(name)) == machine;
}

}  // namespace

std::string shown_by(const PlanQuestion& question) {
  return question.machine.is_string() ? question.machine.get<std::string>() : question.shown_by;
}

answer::Certainty certainty_of(const result::Result& result, const std::string& shown_by) {
  const json& machine = result.scenario.at("machine");
  answer::Certainty certainty;
  for (const std::string& path : explore::assumed_numbers(result))
    certainty.assumed +=
        !machine.at("sources").at(path).get<std::string>().starts_with(scenarios::chosen);
  const std::string name = machine.value("name", "");
  certainty.machine = !shown_by.empty() ? shown_by : is_shipped(name, machine) ? name : "FILE";
  return certainty;
}

answer::Certainty certainty_without_scenario(const result::Result& result,
                                             const std::string& shown_by) {
  answer::Certainty certainty = certainty_of(result, shown_by);
  const description::Scenario scenario = explore::scenario_of(result);
  certainty.trainer = scenarios::assumed_of_trainer(scenario);
  return certainty;
}

void add_range(const explore::Backend& backend, result::Result& result) {
  explore::Backend patient = backend;  // what was found is to be whole, whatever ended the search
  patient.watch = {};
  const auto scenario = explore::scenario_of(result);
  result.range = explore::range_of(patient, scenario, result, scenario.run.seed);
}

std::string old_prices_of(const result::Result& result, const std::string& today) {
  return old_prices_words(result.scenario.at("machine").get<description::MachineFile>(), today);
}

}  // namespace spillway::answers
