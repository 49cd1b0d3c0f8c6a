#include "cli/plan_common.hpp"

#include "cli/common.hpp"
#include "reports/human.hpp"
#include "reports/table.hpp"
#include "scenarios/box.hpp"
#include "scenarios/document.hpp"
#include "scenarios/shipped.hpp"
#include "strategies/catalogue.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdio>

namespace spillway::cli {

using nlohmann::json;
using reports::Align;

void add_plan_options(CLI::App& verb, PlanOptions& options) {
  verb.add_option("--machine", options.machine, "a name of scenarios/machines or a file")
      ->required();
  add_way_options(verb, options);
  verb.add_option("--precision", options.precision, "of the training");
  verb.add_option("--sequence", options.sequence, "tokens of a sample")->check(CLI::PositiveNumber);
}

void add_plan_ending(CLI::App& verb, PlanOptions& options) {
  add_limit(verb, options.limit_s, plan_limit_help);
  add_set(verb, options.overrides, "override one value of all that is tried");
  verb.add_flag("--json", options.json, "with the whole result of everything that was simulated");
}

json plan_base(const PlanOptions& options, const std::string& model) {
  return {{"model", model},
          {"machine", options.machine},
          {"training", {{"precision", options.precision}, {"sequence", options.sequence}}},
          {"strategy", {{"system", "zero_infinity"}}},
          {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
}

void add_overrides(std::vector<explore::Trial>& trials, const PlanOptions& options) {
  for (explore::Trial& trial : trials)
    trial.overrides.insert(trial.overrides.end(), options.overrides.begin(),
                           options.overrides.end());
}

namespace {

/// What a mix swaps: " + weights.home host".
void add_parts(const json& part, const std::string& path, std::string& name) {
  if (part.is_object()) {
    for (const auto& [key, child] : part.items())
      add_parts(child, path.empty() ? key : path + "." + key, name);
  } else if (path != "system") {
    name += " + " + path + " " + (part.is_string() ? part.get<std::string>() : part.dump());
  }
}

/// The parts of a scenario that ships as an example or stands in a file.
Way mix_of(const std::string& asked) {
  const std::vector<std::string> shipped = scenarios::shipped_names("scenarios/examples");
  const bool known = std::find(shipped.begin(), shipped.end(), asked) != shipped.end();
  const scenarios::LocatedJson scenario =
      scenarios::read_located(known ? scenarios::shipped_file("scenarios/examples", asked) : asked);
  const json* strategy = scenario.find("/strategy");
  const json* system = scenario.find("/strategy/system");
  if (!system || !system->is_string())
    refuse("--mix", asked + " has no strategy.system", "name a scenario that swaps parts");
  Way way{system->get<std::string>(), "strategy=" + strategy->dump(), false};
  add_parts(*strategy, "", way.name);
  return way;
}

std::vector<std::string> shipped_mixes() {
  std::vector<std::string> names = scenarios::shipped_names("scenarios/examples");
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("mix_"); });
  return names;
}

}  // namespace

bool is_mix(const std::string& name) {
  const std::vector<std::string> shipped = scenarios::shipped_names("scenarios/examples");
  return !strategies::find_system(name) &&
         std::find(shipped.begin(), shipped.end(), name) != shipped.end();
}

Way way_named(const std::string& name) {
  if (is_mix(name)) return mix_of(name);
  return {name, R"(strategy={"system": ")" + name + "\"}", false};
}

std::vector<Way> ways_of(const WayOptions& options) {
  std::vector<Way> ways;
  for (const strategies::System& system : strategies::catalogue()) {
    const description::Strategy own = system.defaults();
    const auto& asked = options.systems;
    if (asked.empty() ? own.optimizer.staleness == 0
                      : std::find(asked.begin(), asked.end(), system.name) != asked.end())
      ways.push_back({system.name, std::string(R"(strategy={"system": ")") + system.name + "\"}",
                      own.activations.policy == description::ActivationPolicy::plan});
  }
  for (const std::string& name : options.systems)  // whoever reads it says what is wrong
    if (!strategies::find_system(name))
      ways.push_back({name, R"(strategy={"system": ")" + name + "\"}", false});
  std::vector<std::string> mixes = options.mixes;
  if (mixes.empty() && options.systems.empty()) mixes = shipped_mixes();
  for (const std::string& mix : mixes)
    if (mix != "none") ways.push_back(mix_of(mix));
  return ways;
}

void add_way_options(CLI::App& verb, WayOptions& options) {
  verb.add_option("--system", options.systems,
                  "only these systems; else all whose updates come in time")
      ->delimiter(',');
  verb.add_option("--mix", options.mixes,
                  "the parts of these scenarios too: files or names of scenarios/examples; without "
                  "--system the mix_* there; none: no mixes")
      ->delimiter(',');
}

void add_batch_options(CLI::App& verb, WayOptions& options) {
  verb.add_option("--micro-batch", options.batches, "samples a card and pass that are tried")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  CLI::Option* global =
      verb.add_option("--global-batch", options.global_batch,
                      "samples of a step: only splits into micro-batches that make so many")
          ->check(CLI::PositiveNumber);
  verb.add_option("--accumulation", options.accumulations, "micro-batches a step that are tried")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->excludes(global);
}

std::vector<Split> splits_of(const PlanOptions& options) {
  const json base = plan_base(options, options.models.front());
  const scenarios::Document document =
      scenarios::assemble(scenarios::located_at(base, {}), options.overrides);
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
  const auto set = [](const char* how, std::uint64_t number) {
    return fmt::format("parallel.{}={}", how, number);
  };
  std::vector<Split> splits = {{"", {set("data", nodes * own)}, nodes * own}};
  if (own > 1)
    for (const char* how : {"tensor", "pipeline"})
      splits.push_back(
          {fmt::format(", {} {}", how, own), {set("data", nodes), set(how, own)}, nodes});
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
  for (const std::uint64_t batch : options.batches) {
    if (options.global_batch == 0)
      for (const std::uint64_t accumulation : options.accumulations) add(batch, accumulation);
    else if (options.global_batch % (batch * data) == 0)
      add(batch, options.global_batch / (batch * data));
  }
  return splits;
}

json trial_json(const explore::Trial& trial) {
  json out = {{"words", trial.words},
              {"reason", trial.reason},
              {"ruled_out", trial.ruled_out},
              {"not_tried", trial.not_tried},
              {"result", nullptr}};
  if (trial.result) out["result"] = *trial.result;
  return out;
}

namespace {

/// What a line says of a result that fits.
std::vector<reports::Cell> cells_of(const result::Result& result) {
  const bool worn = result.wear && result.wear->lifetime_years;
  return {reports::human_number(result.tokens_per_s), reports::human_time(result.step_time_s),
          reports::human_memory(result.gpu.total), reports::human_memory(result.host.total),
          worn ? reports::human_years(*result.wear->lifetime_years) : "-"};
}

}  // namespace

bool reads_the_same(const result::Result& one, const result::Result& other) {
  const auto equal = [](const reports::Cell& a, const reports::Cell& b) {
    return a.text == b.text;
  };
  const std::vector<reports::Cell> cells = cells_of(one), others = cells_of(other);
  return std::equal(cells.begin(), cells.end() - 1, others.begin(), equal) &&
         (cells.back().text == "-") == (others.back().text == "-");
}

std::string evidence(const std::vector<explore::Trial>& trials) {
  reports::Table table;
  table.columns = {{"tried", Align::left, 0},      {"tokens/s", Align::right, 0},
                   {"step", Align::right, 0},      {"GPU peak", Align::right, 0},
                   {"host peak", Align::right, 0}, {"drives last", Align::right, 0},
                   {"why not", Align::left, 0}};
  for (const explore::Trial& trial : trials) {
    if (trial.not_tried) continue;  // how many is said below the answer
    auto& cells = table.rows.emplace_back(std::vector<reports::Cell>{trial.words});
    if (trial.fits()) {
      const std::vector<reports::Cell> said = cells_of(*trial.result);
      cells.insert(cells.end(), said.begin(), said.end());
    } else {
      cells.insert(cells.end(), {"-", "-", "-", "-", "-", trial.reason});
    }
  }
  if (table.rows.empty()) return "";
  reports::drop_silent_columns(table);
  return to_text(table, reports::screen_of(stdout));
}

json trials_json(const std::vector<explore::Trial>& trials) {
  json all = json::array();
  for (const explore::Trial& trial : trials) all.push_back(trial_json(trial));
  return all;
}

json counts_json(const explore::TrialCounts& counts) {
  return {{"bounded", counts.bounded},
          {"ruled_out", counts.ruled_out},
          {"simulated", counts.simulated},
          {"not_tried", counts.not_tried}};
}

void try_or_refuse(const explore::Backend& backend, const json& base,
                   std::vector<explore::Trial>& trials) {
  if (const auto wrong = try_all(backend, base, trials)) throw *wrong;
}

void try_one(const explore::Backend& backend, const json& base, explore::Trial& trial,
             explore::TrialCounts& counts) {
  std::vector<explore::Trial> again = {{trial.words, trial.overrides, std::nullopt, ""}};
  try_or_refuse(backend, base, again);
  if (again.front().not_tried) return;
  trial = std::move(again.front());
  --counts.ruled_out;
  ++counts.simulated;
}

void keep_first_refusal(std::vector<explore::Trial>& trials) {
  const auto again = [](const explore::Trial& one, const explore::Trial& next) {
    return one.refused && next.refused;
  };
  trials.erase(std::unique(trials.begin(), trials.end(), again), trials.end());
}

void finish(const Monitor& monitor, const explore::TrialCounts& counts, bool as_json) {
  if (monitor.ended()) {
    std::string text = monitor.why();
    if (counts.not_tried > 0)
      text += fmt::format("; {} not tried, so there may be a better answer",
                          reports::human_count(counts.not_tried));
    text += monitor.interrupted() ? "." : ". --limit SECONDS waits longer.";
    if (as_json)
      std::fprintf(stderr, "%s\n", text.c_str());
    else
      print_paragraph(text);
  }
  monitor.finish();
}

std::string counts_words(const explore::TrialCounts& counts) {
  return fmt::format("{} simulated; {} of {} ruled out by bounds, which no schedule can beat.",
                     reports::human_count(counts.simulated), reports::human_count(counts.ruled_out),
                     reports::human_count(counts.bounded));
}

std::string certainty(const result::Result& result) {
  const json& machine = result.scenario.at("machine");
  std::size_t assumed = 0;
  for (const std::string& path : explore::assumed_numbers(result))
    assumed += !machine.at("sources").at(path).get<std::string>().starts_with(scenarios::chosen);
  if (assumed == 0) return "Every number of the machine is stated or measured.";
  const std::string name = machine.value("name", "");
  const auto shipped = scenarios::shipped_names("scenarios/machines");
  const bool known = std::find(shipped.begin(), shipped.end(), name) != shipped.end();
  return fmt::format("{} number{} of the machine {} assumed; spillway machine {} says which.",
                     assumed, assumed == 1 ? "" : "s", assumed == 1 ? "is" : "are",
                     known ? name : "FILE");
}

void print_paragraph(const std::string& text) {
  print(reports::paragraph(text, reports::screen_of(stdout)));
}

}  // namespace spillway::cli
