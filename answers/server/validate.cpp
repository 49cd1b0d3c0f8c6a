#include "answers/server/validate.hpp"

#include "answers/server/preflight.hpp"
#include "hw_backend/cuda/gds.hpp"
#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/machine/real_run.hpp"
#include "hw_backend/probe/usable_memory.hpp"
#include "hw_backend/storage/limits.hpp"
#include "reports/words/human.hpp"
#include "strategies/counting/counting_machine.hpp"
#include "strategies/decide/decide.hpp"
#include "strategies/layout/prepared.hpp"
#include "strategies/run/counting_probe.hpp"
#include "strategies/run/numerics.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace spillway::answers {

namespace {

using description::IoEngine;
using description::Scenario;

MemoryNeed need_of(const ValidateQuestion& question, const ValidationPlan& plan) {
  MemoryNeed need =
      memory_need(plan.scenario, plan.predicted,
                  question.compares() ? (*plan.decision)->prepared->model.parameters.value() : 0,
                  plan.device.cuda());
  const std::vector<std::uint64_t> files = file_need(plan.scenario, plan.predicted);
  for (std::size_t i = 0; i < files.size(); ++i)
    if (!plan.places[i].raw && hw_backend::StoreDirectory(plan.places[i].path).in_memory())
      need.files += files[i];
  return need;
}

/// States before it starts what it will take, and refuses what is not there.
void announce(const ValidateQuestion& question, const ValidationPlan& plan,
              const ValidateTalk& talk) {
  const MemoryNeed memory = need_of(question, plan);
  talk.say(announcement(plan.scenario, plan.predicted, memory, question.compares()));
  for (const StoragePath& place : plan.places)
    if (plan.buffered.contains(place.name)) talk.say(through_page_cache(place) + ".\n");
  require_room(plan.places, file_need(plan.scenario, plan.predicted));
  require_memory(memory, hw_backend::usable_memory());
  hw_backend::check_limits(memory.locked, 0);
  hw_backend::stop_if_interrupted();
}

/// The serial number of each raw disk is typed again, under what it will lose.
RawDisks open_disks(ValidationPlan& plan, Gates gates, const Ask& ask) {
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
  RawDisks disks = open_raw_disks(std::move(gates), wear, ask);
  for (const auto& [place, disk] : disks) {
    description::Bytes& capacity = plan.scenario.machine.storage[place].capacity;
    capacity = description::Bytes(std::min(capacity.value(), disk.size() / 4096 * 4096));
  }
  return disks;
}

hw_backend::RealRun run_plan(const ValidateQuestion& question, const ValidationPlan& plan,
                             const RawDisks& disks, bool trace) {
  hw_backend::RealRunOptions real;
  for (std::size_t i = 0; i < plan.places.size(); ++i) {
    hw_backend::RealStorage& storage = real.storages.emplace_back();
    if (plan.places[i].raw)
      storage.raw = &disks.at(i);
    else
      storage.directories.push_back(plan.places[i].path);
  }
  real.paced = !question.pace.empty();
  real.synthetic = question.synthetic;
  real.engine.checked = question.synthetic;
  real.trace = trace;
  real.make_device = make_device(plan.device);
  real.around_engine =
      around_engine(plan.device, plan.scenario.strategy.io_engine == IoEngine::gds);
  return hw_backend::run_for_real(*plan.decision, real);
}

bool equal_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// The first loss that is no finite number, counted from 1; 0: there is none.
std::size_t first_lost(const std::vector<double>& losses) {
  for (std::size_t i = 0; i < losses.size(); ++i)
    if (!std::isfinite(losses[i])) return i + 1;
  return 0;
}

/// A loss that is no number says that data was lost, unless the reference's is none either.
///   reference  its losses; null: there was none
void note_lost(const std::vector<double>* reference, result::Validation& validation) {
  const std::size_t lost = first_lost(validation.losses);
  if (lost == 0) return;
  validation.notes.emplace_back(fmt::format(
      "THE LOSS IS NO NUMBER from step {} on: {}", lost,
      !reference                    ? "data was lost, or the training itself diverges"
      : first_lost(*reference) == 0 ? "data was lost or mixed up, for the reference has losses"
                                    : "the training diverges, for the reference has none either"));
}

/// Trains the reference and compares masters.
void compare_weights(const ValidateQuestion& question, const ValidationPlan& plan,
                     const hw_backend::RealRun& run, result::Validation& validation) {
  if (!question.compares() || !run.result.feasible()) return note_lost(nullptr, validation);
  Scenario reference = strategies::reference_of(plan.scenario);
  reference.machine.storage.clear();
  // as many steps as were done, whatever a system measures or warms up with
  reference.run.steps = 1;
  reference.run.warmup_steps = run.trained.losses.size() - 1;
  // its program is the run's, unless that is cut into stages which the reference has not
  std::shared_ptr<const strategies::Prepared> prepared = (*plan.decision)->prepared;
  if (reference.parallel.pipeline != plan.scenario.parallel.pipeline)
    prepared = std::make_shared<const strategies::Prepared>(strategies::prepare(reference));
  const strategies::Decision decision = strategies::repeating(
      strategies::decide_settled(reference, prepared, strategies::counting_probe()), run.delays);
  strategies::CountingMachine counting(reference);
  const result::Result peaks = strategies::run(counting, decision, "counting");
  const MemoryNeed need =
      memory_need(reference, peaks, prepared->model.parameters.value(), plan.device.cuda());
  if (!peaks.feasible() || need.total() > hw_backend::usable_memory()) {
    note_lost(nullptr, validation);
    validation.notes.push_back(text::filled(
        "the reference, which keeps all of the training in memory, needs {}, more than there is",
        {text::memory(need.total())}));
    return;
  }
  hw_backend::RealRunOptions same_devices;
  same_devices.make_device = make_device(plan.device);
  const hw_backend::RealRun other = hw_backend::run_for_real(decision, same_devices);
  note_lost(&other.trained.losses, validation);
  if (!other.result.feasible()) return;
  const auto &masters = run.trained.masters, &expected = other.trained.masters;
  validation.weights_equal =
      std::equal(masters.begin(), masters.end(), expected.begin(), expected.end(), equal_bits);
}

std::string devices_of(const DeviceChoice& choice) {
  return fmt::format("on {} devices: {}", choice.cuda() ? "CUDA" : "host", choice.why);
}

void describe_gds(bool cuda, result::Validation& validation) {
  if (cuda) {
    validation.real.push_back("GPUDirect Storage: drives and GPUs by libcufile");
    const std::string detour = hw_backend::gds_detour();
    if (!detour.empty()) validation.notes.emplace_back(detour);
    return;
  }
  validation.emulated.push_back("GPUDirect Storage: drives read into the DRAM of emulated GPUs");
  validation.notes.emplace_back(
      "GPUDirect Storage itself needs a CUDA device and libcufile: install NVIDIA's package "
      "nvidia-gds");
}

void describe(const ValidateQuestion& question, const Scenario& scenario,
              const DeviceChoice& device, result::Validation& validation) {
  validation.notes.emplace_back(devices_of(device));
  validation.real = {
      "storage transfers, all bytes, as far as the drives' caches: nothing is flushed",
      "host memory, locked where it is pinned",
      "optimizer, conversions and checks on the processor"};
  if (question.synthetic) {
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
  if (!question.pace.empty())
    validation.emulated.push_back("kernels and copies last as long as on " + question.pace);
  if (scenario.strategy.optimizer.device == description::OptimizerDevice::near_storage)
    validation.emulated.push_back("near_storage: emulated by a thread of its own for each storage");
  for (std::string& note : strategies::notes_on_numbers(scenario))
    validation.notes.emplace_back(std::move(note));
  if (scenario.strategy.io_engine == IoEngine::gds) describe_gds(device.cuda(), validation);
}

result::Validation validation_of(const ValidateQuestion& question, ValidationPlan& plan,
                                 hw_backend::RealRun& run) {
  result::Validation validation;
  validation.device = run.device;
  validation.synthetic = question.synthetic;
  validation.predicted = plan.predicted;
  validation.measured = run.result;
  if (!question.synthetic) validation.losses = run.trained.losses;
  validation.pacing = run.pacing;
  validation.memory = run.memory;
  validation.storage = run.storage;
  for (const std::string& name : plan.buffered) validation.storage[name].direct = false;
  validation.notes = plan.notes;
  validation.notes.insert(validation.notes.end(), run.notes.begin(), run.notes.end());
  validation.machine = plan.machine;
  describe(question, plan.scenario, plan.device, validation);
  return validation;
}

/// This machine has the simulator's ledger: what does not fit there does not fit here.
result::Validation not_run(const ValidateQuestion& question, const ValidationPlan& plan) {
  result::Validation validation;
  validation.device = "not run";
  validation.synthetic = question.synthetic;
  validation.predicted = plan.predicted;
  validation.measured.backend = "real";
  validation.measured.system = plan.predicted.system;
  validation.measured.scenario = plan.predicted.scenario;
  validation.measured.infeasible = plan.predicted.infeasible;
  validation.notes = plan.notes;
  validation.notes.emplace_back(devices_of(plan.device));
  validation.notes.emplace_back("nothing was run: the ledger of a real run is the simulator's");
  validation.machine = plan.machine;
  return validation;
}

}  // namespace

result::Validation validate(const explore::Backend& backend, const ValidateQuestion& question,
                            const ValidateTalk& talk) {
  static const hw_backend::SystemBlockLayer layer;
  Gates gates;
  ValidationPlan plan = plan_validation(backend, question, talk, layer, gates);
  if (!plan.predicted.feasible()) return not_run(question, plan);
  const hw_backend::InterruptGuard interruptible(hw_backend::InterruptGuard::Reader::may_go);
  announce(question, plan, talk);
  talk.may_start();
  const RawDisks disks = open_disks(plan, std::move(gates), talk.ask_serial);
  hw_backend::RealRun run = run_plan(question, plan, disks, bool(talk.keep_traces));
  result::Validation validation = validation_of(question, plan, run);
  if (talk.keep_traces) talk.keep_traces(run.trace, plan.trace);
  compare_weights(question, plan, run, validation);
  result::compare(validation);
  return validation;
}

}  // namespace spillway::answers
