#include "cli/common.hpp"
#include "cli/preflight.hpp"
#include "cli/validation_plan.hpp"
#include "cli/verbs.hpp"
#include "hw_backend/cuda/gds.hpp"
#include "hw_backend/interrupt.hpp"
#include "hw_backend/probe/usable_memory.hpp"
#include "hw_backend/real_run.hpp"
#include "hw_backend/storage/limits.hpp"
#include "reports/chrome_trace.hpp"
#include "reports/human.hpp"
#include "reports/validation_report.hpp"
#include "scenarios/description/data_files.hpp"
#include "strategies/counting/counting_machine.hpp"
#include "strategies/numerics.hpp"

#include <fmt/format.h>
#include <memory>
#include <sstream>

namespace spillway::cli {

namespace {

using description::IoEngine;
using description::Scenario;

MemoryNeed need_of(const ValidateOptions& options, const Scenario& scenario, const Plan& plan,
                   const result::Result& predicted) {
  MemoryNeed need = memory_need(scenario, predicted,
                                options.compares() ? plan.prepared.model.parameters.value() : 0,
                                plan.device.cuda());
  const std::vector<std::uint64_t> files = file_need(scenario, predicted);
  for (std::size_t i = 0; i < files.size(); ++i)
    if (!plan.places[i].raw && hw_backend::StoreDirectory(plan.places[i].path).in_memory())
      need.files += files[i];
  return need;
}

/// States before it starts what it will take, and refuses what is not there.
void announce(const ValidateOptions& options, const Plan& plan) {
  const MemoryNeed memory = need_of(options, plan.scenario, plan, plan.predicted);
  say(options, announcement(plan.scenario, plan.predicted, memory, options.compares()));
  require_room(plan.places, file_need(plan.scenario, plan.predicted));
  require_memory(memory, hw_backend::usable_memory());
  hw_backend::check_limits(memory.locked, 0);
}

/// The serial number of each raw disk is typed again, under what it will lose.
RawDisks open_disks(Plan& plan, Gates gates) {
  std::vector<hw_backend::ProjectedWear> wear;
  for (const description::StorageSpec& storage : plan.scenario.machine.storage) {
    const auto found = plan.predicted.io.by_storage.find(storage.name);
    hw_backend::ProjectedWear& each = wear.emplace_back();
    each.steps = static_cast<double>(plan.scenario.run.warmup_steps + plan.scenario.run.steps);
    if (found != plan.predicted.io.by_storage.end())
      each.written_bytes_per_step = static_cast<double>(found->second.write);
    if (storage.endurance && storage.endurance->rated.value() > 0)
      each.rated_write_bytes = static_cast<double>(storage.endurance->rated.value());
  }
  RawDisks disks = open_raw_disks(std::move(gates), wear, ask_at_terminal);
  for (const auto& [place, disk] : disks) {
    description::Bytes& capacity = plan.scenario.machine.storage[place].capacity;
    capacity = description::Bytes(std::min(capacity.value(), disk.size() / 4096 * 4096));
  }
  return disks;
}

hw_backend::RealRun run_plan(const ValidateOptions& options, const Plan& plan,
                             const RawDisks& disks) {
  hw_backend::RealRunOptions real;
  for (std::size_t i = 0; i < plan.places.size(); ++i) {
    hw_backend::RealStorage& storage = real.storages.emplace_back();
    if (plan.places[i].raw)
      storage.raw = &disks.at(i);
    else
      storage.directories.push_back(plan.places[i].path);
  }
  real.paced = !options.pace.empty();
  real.synthetic = options.synthetic;
  real.engine.checked = options.synthetic;
  real.trace = !options.trace_file.empty();
  real.make_device = make_device(plan.device);
  real.around_engine =
      around_engine(plan.device, plan.scenario.strategy.io_engine == IoEngine::gds);
  return hw_backend::run_for_real(plan.scenario, plan.prepared, real);
}

/// Trains the reference and compares masters.
void compare_weights(const ValidateOptions& options, const Plan& plan,
                     const hw_backend::RealRun& run, result::Validation& validation) {
  if (!options.compares() || !run.result.feasible()) return;
  Scenario reference = strategies::reference_of(plan.scenario);
  reference.machine.storage.clear();
  // as many steps as were done, whatever a system measures or warms up with
  reference.run.steps = 1;
  reference.run.warmup_steps = run.trained.losses.size() - 1;
  strategies::Prepared prepared = plan.prepared;
  prepared.replay = run.delays;
  strategies::CountingMachine counting(reference);
  const result::Result peaks = strategies::run(counting, reference, prepared, "counting");
  const MemoryNeed need =
      memory_need(reference, peaks, plan.prepared.model.parameters.value(), plan.device.cuda());
  if (!peaks.feasible() || need.total() > hw_backend::usable_memory()) {
    validation.notes.push_back(fmt::format(
        "the reference, which keeps all of the training in memory, needs {}, more than there is",
        reports::human_memory(need.total())));
    return;
  }
  hw_backend::RealRunOptions same_devices;
  same_devices.make_device = make_device(plan.device);
  const hw_backend::RealRun other = hw_backend::run_for_real(reference, prepared, same_devices);
  if (other.result.feasible())
    validation.weights_equal = run.trained.masters == other.trained.masters;
}

std::string devices_of(const DeviceChoice& choice) {
  return fmt::format("on {} devices: {}", choice.cuda() ? "CUDA" : "host", choice.why);
}

void describe_gds(bool cuda, result::Validation& validation) {
  if (cuda) {
    validation.real.push_back("GPUDirect Storage: drives and GPUs by libcufile");
    const std::string detour = hw_backend::gds_detour();
    if (!detour.empty()) validation.notes.push_back(detour);
    return;
  }
  validation.emulated.push_back("GPUDirect Storage: drives read into the DRAM of emulated GPUs");
  validation.notes.push_back(
      "GPUDirect Storage itself needs a CUDA device and libcufile: install NVIDIA's package "
      "nvidia-gds");
}

void describe(const ValidateOptions& options, const Scenario& scenario, const DeviceChoice& device,
              result::Validation& validation) {
  validation.notes.push_back(devices_of(device));
  validation.real = {"storage transfers, all bytes", "host memory, locked where it is pinned",
                     "optimizer, conversions and checks on the processor"};
  if (options.synthetic) {
    validation.emulated.push_back("GPU kernels compute nothing");
  } else if (device.cuda()) {
    validation.real.push_back("forward, backward and their gradients, on the GPU");
  } else {
    validation.real.push_back("forward, backward and their gradients");
    validation.emulated.push_back("each GPU by a thread a stream of this processor");
  }
  if (device.cuda())
    validation.real.push_back("GPU memory, and copies over its link");
  else
    validation.emulated.push_back("GPU memory in DRAM");
  if (!options.pace.empty())
    validation.emulated.push_back("kernels and copies last as long as on " + options.pace);
  if (scenario.strategy.optimizer.device == description::OptimizerDevice::near_storage)
    validation.emulated.push_back("near_storage: emulated by a thread of its own for each storage");
  if (scenario.strategy.io_engine == IoEngine::gds) describe_gds(device.cuda(), validation);
}

double first_step_s(const result::Trace& trace) {
  double start = -1;
  for (const result::TraceSpan& span : trace.spans)
    if (span.phase != "init" && (start < 0 || span.start_s < start)) start = span.start_s;
  return std::max(start, 0.0);
}

void write_trace(const ValidateOptions& options, const result::Trace& measured,
                 const result::Trace& predicted) {
  if (options.trace_file.empty()) return;
  std::ostringstream text;
  reports::write_chrome_trace(text, reports::on_one_timeline(measured, first_step_s(measured),
                                                             predicted, first_step_s(predicted)));
  write_file(options.trace_file, text.str());
}

result::Validation validation_of(const ValidateOptions& options, Plan& plan,
                                 hw_backend::RealRun& run) {
  result::Validation validation;
  validation.device = run.device;
  validation.synthetic = options.synthetic;
  validation.predicted = plan.predicted;
  validation.measured = run.result;
  if (!options.synthetic) validation.losses = run.trained.losses;
  validation.pacing = run.pacing;
  validation.memory = run.memory;
  validation.storage = run.storage;
  validation.notes = plan.notes;
  validation.notes.insert(validation.notes.end(), run.notes.begin(), run.notes.end());
  validation.machine = plan.machine;
  describe(options, plan.scenario, plan.device, validation);
  return validation;
}

/// This machine has the simulator's ledger: what does not fit there does not fit here.
result::Validation not_run(const ValidateOptions& options, const Plan& plan) {
  result::Validation validation;
  validation.device = "not run";
  validation.synthetic = options.synthetic;
  validation.predicted = plan.predicted;
  validation.measured.backend = "real";
  validation.measured.system = plan.predicted.system;
  validation.measured.scenario = plan.predicted.scenario;
  validation.measured.infeasible = plan.predicted.infeasible;
  validation.notes = plan.notes;
  validation.notes.push_back(devices_of(plan.device));
  validation.notes.push_back("nothing was run: the ledger of a real run is the simulator's");
  validation.machine = plan.machine;
  return validation;
}

void answer(const ValidateOptions& options, const result::Validation& validation) {
  if (options.json) return print_json(nlohmann::json(validation));
  print("\n" + reports::validation_report(validation, reports::screen_of(stdout)));
}

void validate(ValidateOptions options) {
  if (options.scenario.empty())
    options.scenario = (description::data_root() / "scenarios/examples/tiny.json").string();
  if (!options.trace_file.empty()) require_writable("--trace", options.trace_file);
  static const hw_backend::SystemBlockLayer layer;
  Gates gates;
  Plan plan = make_plan(options, layer, gates);
  if (!plan.predicted.feasible()) return answer(options, not_run(options, plan));
  announce(options, plan);
  if (options.ask) require_yes(options.json ? stderr : stdout);
  const RawDisks disks = open_disks(plan, std::move(gates));
  const hw_backend::InterruptGuard interruptible;
  hw_backend::RealRun run = run_plan(options, plan, disks);
  result::Validation validation = validation_of(options, plan, run);
  write_trace(options, run.trace, plan.trace);
  compare_weights(options, plan, run, validation);
  result::compare(validation);
  answer(options, validation);
}

}  // namespace

void add_validate(CLI::App& app) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* verb = app.add_subcommand(
      "validate", "runs a scenario for real on this machine, and beside it the prediction");
  verb->add_option("scenario", options->scenario, "scenario file (default: the tiny example)");
  verb->add_option("--on", options->on,
                   "directory for a storage of the scenario, in their order; NAME=DIR for the one "
                   "of that name; repeatable")
      ->required()
      ->allow_extra_args(false)
      ->type_name("[NAME=]DIR");
  verb->add_option(
          "--allow-raw", options->allow_raw,
          "serial number of a disk that --on names instead of a directory, and that may be "
          "overwritten; repeatable")
      ->allow_extra_args(false)
      ->type_name("SERIAL");
  verb->add_option("--profile", options->profile,
                   "machine file that probe wrote (default: measure now)");
  verb->add_option("--pace", options->pace,
                   "kernels and copies also take the time that this machine's GPU and PCIe need");
  add_device(*verb, options->device);
  add_set(*verb, options->overrides, "override one value: --set training.micro_batch=2");
  verb->add_flag("--synthetic", options->synthetic,
                 "same transfers, nothing computed on the GPU; every read is checked");
  verb->add_flag("--no-reference", options->no_reference,
                 "do not train the resident reference to compare weights with");
  verb->add_option("--trace", options->trace_file,
                   "write a Chrome/Perfetto trace with both runs on one time line");
  verb->add_flag("--ask", options->ask,
                 "wait for a line \"yes\" after saying what will be taken and written");
  verb->add_flag("--json", options->json, "the validation as JSON");
  verb->footer(
      "Example:\n  spillway validate scenarios/examples/tiny.json --on . --pace "
      "paced_small");
  verb->callback([options] { validate(*options); });
}

}  // namespace spillway::cli
