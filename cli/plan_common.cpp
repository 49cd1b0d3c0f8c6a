#include "cli/plan_common.hpp"

#include "cli/common.hpp"
#include "explore/runs_with.hpp"
#include "reports/finished_run.hpp"
#include "reports/human.hpp"
#include "reports/range.hpp"
#include "reports/table.hpp"
#include "reports/verdict.hpp"
#include "reports/wear_words.hpp"
#include "scenarios/box.hpp"
#include "scenarios/document.hpp"
#include "scenarios/read_machine.hpp"
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
  add_run_options(verb, options.run);
  add_prices(verb, options.prices);
  verb.add_flag("--json", options.json, "with the whole result of everything that was simulated");
}

json plan_base(const PlanOptions& options, const std::string& model) {
  json run = {{"warmup_steps", 1}, {"steps", 1}};
  if (const auto tokens = tokens_of(options.run)) run["tokens"] = *tokens;
  json base = {{"model", model},
               {"machine", options.machine},
               {"training", {{"precision", options.precision}, {"sequence", options.sequence}}},
               {"strategy", {{"system", "zero_infinity"}}},
               {"run", std::move(run)}};
  if (!options.prices.any()) return base;
  description::MachineFile machine = scenarios::read_machine(options.machine);
  price_anew(options.prices, machine);
  base["machine"] = machine;
  return base;
}

void add_overrides(std::vector<explore::Trial>& trials, const PlanOptions& options) {
  for (explore::Trial& trial : trials)
    trial.overrides.insert(trial.overrides.end(), options.overrides.begin(),
                           options.overrides.end());
}

std::vector<Way> ways_of(const WayOptions& options) {
  return explore::ways_of(options.systems, options.mixes);
}

std::vector<Way> runnable_ways(const WayOptions& options, const json& base,
                               const std::vector<std::string>& overrides) {
  std::vector<Way> ways = ways_of(options);
  if (!options.runnable) return ways;
  const std::vector<scenarios::SystemInfo> systems = explore::known_systems();
  std::erase_if(ways, [&](const Way& way) {
    std::vector<std::string> all = {way.overrides};
    all.insert(all.end(), overrides.begin(), overrides.end());
    try {
      return !explore::runs_with(scenarios::read_scenario(base, all, systems).scenario).runnable;
    } catch (const description::ScenarioError&) {
      return false;  // whoever simulates it says what is wrong
    }
  });
  if (ways.empty())
    refuse("--runnable", "no maintained program trains with any of these systems and parts",
           "spillway systems says what runs with which");
  return ways;
}

void add_way_options(CLI::App& verb, WayOptions& options) {
  verb.add_flag("--runnable", options.runnable,
                "only what people can start today: DeepSpeed, PyTorch, Megatron-LM, Colossal-AI");
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
  return {reports::human_number(result.tokens_per_s),
          reports::human_time(result.step_time_s),
          reports::human_memory(result.gpu.total),
          reports::human_memory(result.host.total),
          reports::drives_last(result),
          result.runs_with ? result.runs_with->program : "-"};
}

/// Of the finished run: its days, and what its energy costs. They stand before the last column.
constexpr std::ptrdiff_t run_column = 6;
std::vector<reports::Cell> run_cells(const result::Result& result) {
  constexpr double day_s = 86400;
  if (!result.run) return {"-", "-"};
  const auto& energy = result.run->usd.energy;
  return {reports::human_time(result.run->days * day_s),
          energy ? reports::human_price(*energy) : "-"};
}

}  // namespace

bool reads_the_same(const result::Result& one, const result::Result& other) {
  const auto equal = [](const reports::Cell& a, const reports::Cell& b) {
    return words(a.text) == words(b.text);
  };
  const std::vector<reports::Cell> cells = cells_of(one), others = cells_of(other);
  const std::size_t wear = 4;  // how long drives last differs by their number
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (i == wear ? (cells[i].text == "-") != (others[i].text == "-") : !equal(cells[i], others[i]))
      return false;
  return true;
}

std::string evidence(const std::vector<explore::Trial>& trials) {
  reports::Table table;
  table.columns = {{"tried", Align::left, 0},         {"tokens/s", Align::right, 0},
                   {"step", Align::right, 0},         {"GPU peak", Align::right, 0},
                   {"host peak", Align::right, 0},    {"warranty of drives", Align::right, 0},
                   {"time for all", Align::right, 0}, {"energy", Align::right, 0},
                   {"runs with", Align::left, 0},     {"why not", Align::left, 0}};
  for (const explore::Trial& trial : trials) {
    if (trial.not_tried) continue;  // how many is said below the answer
    auto& cells = table.rows.emplace_back(std::vector<reports::Cell>{trial.words});
    if (trial.fits()) {
      const std::vector<reports::Cell> said = cells_of(*trial.result);
      cells.insert(cells.end(), said.begin(), said.end());
      const std::vector<reports::Cell> run = run_cells(*trial.result);
      cells.insert(cells.begin() + run_column, run.begin(), run.end());
    } else {
      cells.insert(cells.end(), {"-", "-", "-", "-", "-", "-", "-", "-", trial.reason});
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
  const reports::GpuUse use = reports::gpu_use(result);
  const std::string idle =
      use.idle() == 0 ? ""
                      : fmt::format("Only {} of {} GPUs work, at the price of the whole machine. ",
                                    use.used, use.all);
  std::size_t assumed = 0;
  for (const std::string& path : explore::assumed_numbers(result))
    assumed += !machine.at("sources").at(path).get<std::string>().starts_with(scenarios::chosen);
  if (assumed == 0) return idle + "Every number of the machine is stated or measured.";
  const std::string name = machine.value("name", "");
  const auto shipped = scenarios::shipped_names("scenarios/machines");
  const bool known = std::find(shipped.begin(), shipped.end(), name) != shipped.end();
  return idle +
         fmt::format("{} number{} of the machine {} assumed; spillway machine {} says which.",
                     assumed, assumed == 1 ? "" : "s", assumed == 1 ? "is" : "are",
                     known ? name : "FILE");
}

std::string rate_words(const result::Result& result) {
  return reports::with_range(reports::human_number(result.tokens_per_s), result,
                             "throughput.tokens_per_s", reports::human_number) +
         " tokens/s";
}

void print_around(const RunOptions& options, result::Result result) {
  const reports::Screen screen = reports::screen_of(stdout);
  if (result.range.empty()) add_range(options, result);
  if (result.run) print("\n" + reports::finished_run_report(result, screen) + "\n");
  for (const std::string& text : {reports::range_note(result), old_prices_words(result)})
    if (!text.empty()) print_paragraph(text);
}

void print_paragraph(const std::string& text) {
  print(reports::paragraph(text, reports::screen_of(stdout)));
}

}  // namespace spillway::cli
