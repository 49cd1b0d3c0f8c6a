#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "hw_backend/probe/probe.hpp"
#include "hw_backend/real_run.hpp"
#include "reports/chrome_trace.hpp"
#include "reports/human.hpp"
#include "reports/table.hpp"
#include "reports/validation_report.hpp"
#include "scenarios/description/data_files.hpp"
#include "scenarios/read_machine.hpp"
#include "strategies/automatic.hpp"
#include "strategies/numerics.hpp"

#include <fmt/format.h>
#include <memory>
#include <sstream>

namespace spillway::cli {

namespace {

using description::MachineFile;
using description::Scenario;
using description::ScenarioError;

struct Options {
  std::string scenario;
  std::vector<std::string> on;  ///< "DIR" or "STORAGE=DIR"
  std::vector<std::string> overrides;
  std::string profile, pace, trace_file;
  bool json = false, synthetic = false, no_reference = false;
};

/// A storage of the run and where it lies on this server.
struct Place {
  std::string name;
  std::filesystem::path directory;
};

[[noreturn]] void refuse(const std::string& path, std::string message, std::string hint) {
  throw ScenarioError({{"command line", 0, 0, path, std::move(message), std::move(hint)}});
}

/// --on in order takes the names of the scenario's storages, unless it gives one.
std::vector<Place> places_of(const Options& options, const MachineFile& written) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < options.on.size(); ++i) {
    const std::string& word = options.on[i];
    const std::size_t equals = word.find('=');
    const std::string name = equals != std::string::npos  ? word.substr(0, equals)
                             : i < written.storage.size() ? written.storage[i].name
                                                          : "directory" + std::to_string(i + 1);
    for (const Place& known : places)
      if (known.name == name)
        refuse("--on", "two directories for the storage \"" + name + "\"",
               "write --on NAME=DIR with another name");
    places.push_back({name, equals == std::string::npos ? word : word.substr(equals + 1)});
  }
  return places;
}

void say(const Options& options, const std::string& text) {
  if (!options.json) print(text);
}

MachineFile measured_machine(const Options& options, const std::vector<Place>& places) {
  if (!options.profile.empty()) return scenarios::read_machine(options.profile);
  hw_backend::ProbeOptions probe;
  for (const Place& place : places) probe.directories.push_back(place.directory);
  probe.quick = true;
  say(options,
      fmt::format("Measuring this machine for some 20 s; at most {} are written to each "
                  "directory.\n",
                  reports::human_bytes(static_cast<double>(hw_backend::probe_writes(probe)))));
  return hw_backend::probe(probe).machine;
}

/// This server as the scenario's machine: its host and its directories; paced, another one's GPU.
MachineFile compose(const Options& options, const Scenario& written, MachineFile machine,
                    const std::vector<Place>& places) {
  if (machine.storage.size() < places.size())
    refuse("--profile",
           fmt::format("{} has {} storages, --on names {} directories", machine.name,
                       machine.storage.size(), places.size()),
           "probe all of them: spillway probe DIR...");
  machine.storage.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) machine.storage[i].name = places[i].name;
  machine.nodes = 1;
  if (!options.pace.empty()) {
    const MachineFile pace = scenarios::read_machine(options.pace);
    machine.gpu = pace.gpu;
    machine.gpu.shares_host = false;
    machine.gpu.context = description::Bytes(0);
    machine.pcie = pace.pcie;
    machine.network = pace.network;
    machine.name += " paced as " + pace.name;
  }
  machine.gpu.gpudirect = false;
  machine.gpu.count = written.parallel.ranks();
  return machine;
}

/// The resolved scenario on that machine.
Scenario on_machine(const Options& options, const MachineFile& machine) {
  std::vector<std::string> overrides = options.overrides;
  overrides.push_back("machine=" + nlohmann::json(machine).dump());
  overrides.push_back("run.checkpoint=true");
  return read(options.scenario, overrides).scenario;
}

std::vector<hw_backend::RealStorage> directories_of(const std::vector<Place>& places) {
  std::vector<hw_backend::RealStorage> storages;
  for (const Place& place : places) storages.push_back({{place.directory}});
  return storages;
}

/// States before it starts what it will take.
void announce(const Options& options, const Scenario& scenario, const result::Result& predicted) {
  const double steps = static_cast<double>(scenario.run.warmup_steps + scenario.run.steps);
  double written = static_cast<double>(predicted.ssd.total);
  for (const auto& [name, bytes] : predicted.io.by_storage)
    written += steps * static_cast<double>(bytes.write);
  say(options,
      fmt::format("Predicted: {:.0f} steps of {}, {} of files, {} written in all, {} of "
                  "host memory and {} for each of {} GPUs.\n",
                  steps, reports::human_time(predicted.step_time_s),
                  reports::human_memory(predicted.ssd.total), reports::human_bytes(written),
                  reports::human_memory(predicted.host.total),
                  reports::human_memory(predicted.gpu.total), scenario.node_ranks()));
}

/// Files are as large as the prediction needs, with some room for extents that do not fit exactly.
void size_files(Scenario& scenario, const result::Result& predicted) {
  const std::uint64_t need = predicted.ssd.total + predicted.ssd.total / 16 + (64u << 20);
  for (description::StorageSpec& storage : scenario.machine.storage)
    if (storage.capacity.value() == 0 || storage.capacity.value() > need)
      storage.capacity = description::Bytes(need / 4096 * 4096);
}

/// Trains the reference and compares masters and losses.
void compare_weights(const Options& options, const Scenario& scenario,
                     const strategies::Prepared& prepared, const hw_backend::RealRun& run,
                     result::Validation& validation) {
  if (options.synthetic || options.no_reference) return;
  Scenario reference = strategies::reference_of(scenario);
  reference.machine.storage.clear();
  hw_backend::RealRunOptions real;
  const hw_backend::RealRun other = hw_backend::run_for_real(reference, prepared, real);
  if (!other.result.feasible()) {
    validation.notes.push_back("the reference does not fit into this machine's memory");
    return;
  }
  validation.weights_equal = run.trained.masters == other.trained.masters;
}

void describe(const Options& options, const Scenario& scenario, result::Validation& validation) {
  validation.real = {"storage transfers, all bytes", "host memory, locked where it is pinned",
                     "optimizer, conversions and checks on the processor"};
  if (options.synthetic) {
    validation.emulated.push_back("GPU kernels compute nothing");
  } else {
    validation.real.push_back("forward, backward and their gradients");
    validation.emulated.push_back("each GPU by a thread a stream of this processor");
  }
  validation.emulated.push_back("GPU memory in DRAM");
  if (!options.pace.empty())
    validation.emulated.push_back("kernels and copies last as long as on " + options.pace);
  if (scenario.strategy.io_engine == description::IoEngine::gds)
    validation.emulated.push_back("GPUDirect Storage");
}

double first_step_s(const result::Trace& trace) {
  double start = -1;
  for (const result::TraceSpan& span : trace.spans)
    if (span.phase != "init" && (start < 0 || span.start_s < start)) start = span.start_s;
  return std::max(start, 0.0);
}

void write_trace(const Options& options, const result::Trace& measured,
                 const result::Trace& predicted) {
  if (options.trace_file.empty()) return;
  std::ostringstream text;
  reports::write_chrome_trace(text, reports::on_one_timeline(measured, first_step_s(measured),
                                                             predicted, first_step_s(predicted)));
  write_file(options.trace_file, text.str());
}

void validate(Options options) {
  if (options.scenario.empty())
    options.scenario = (description::data_root() / "scenarios/examples/tiny.json").string();
  const hw_backend::InterruptGuard interruptible;
  const Scenario written = read(options.scenario, options.overrides).scenario;
  const std::vector<Place> places = places_of(options, written.machine);
  for (const Place& place : places) hw_backend::StoreDirectory usable(place.directory);
  const MachineFile machine = compose(options, written, measured_machine(options, places), places);
  Scenario scenario = on_machine(options, machine);
  const strategies::Prepared prepared = strategies::prepare(scenario);
  scenario = strategies::resolve_automatic(scenario, prepared);
  const bool tracing = !options.trace_file.empty();
  result::Validation validation;
  result::Trace predicted;
  validation.predicted = explore::simulate(simulator(), scenario, tracing ? &predicted : nullptr);
  announce(options, scenario, validation.predicted);
  size_files(scenario, validation.predicted);
  hw_backend::RealRunOptions real;
  real.storages = directories_of(places);
  real.paced = !options.pace.empty();
  real.synthetic = options.synthetic;
  real.engine.checked = options.synthetic;
  real.trace = tracing;
  hw_backend::RealRun run = hw_backend::run_for_real(scenario, prepared, real);
  validation.device = run.device;
  validation.measured = run.result;
  validation.losses = run.trained.losses;
  validation.pacing = run.pacing;
  validation.memory = run.memory;
  validation.storage = run.storage;
  validation.notes = run.notes;
  validation.machine = machine;
  describe(options, scenario, validation);
  write_trace(options, run.trace, predicted);
  compare_weights(options, scenario, prepared, run, validation);
  result::compare(validation);
  if (options.json) return print_json(nlohmann::json(validation));
  print("\n" + reports::validation_report(validation, reports::screen_of(stdout)));
}

}  // namespace

void add_validate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "validate", "runs a scenario for real on this machine, and beside it the prediction");
  verb->add_option("scenario", options->scenario, "scenario file (default: the tiny example)");
  verb->add_option("--on", options->on,
                   "directory for a storage of the scenario, in their order; NAME=DIR for the one "
                   "of that name; repeatable")
      ->required()
      ->take_all();
  verb->add_option("--profile", options->profile,
                   "machine file that probe wrote (default: measure now)");
  verb->add_option("--pace", options->pace,
                   "kernels and copies also take the time that this machine's GPU and PCIe need");
  add_set(*verb, options->overrides, "override one value: --set training.micro_batch=2");
  verb->add_flag("--synthetic", options->synthetic,
                 "same transfers, nothing computed on the GPU; every read is checked");
  verb->add_flag("--no-reference", options->no_reference,
                 "do not train the resident reference to compare weights with");
  verb->add_option("--trace", options->trace_file,
                   "write a Chrome/Perfetto trace with both runs on one time line");
  verb->add_flag("--json", options->json, "the validation as JSON");
  verb->footer(
      "Example:\n  spillway validate scenarios/examples/tiny.json --on . --pace "
      "paced_small");
  verb->callback([options] { validate(*options); });
}

}  // namespace spillway::cli
