#include "hw_backend/machine/real_run.hpp"

#include "hw_backend/machine/other_work.hpp"
#include "hw_backend/storage/limits.hpp"

#include <algorithm>

namespace spillway::hw_backend {

namespace {

using DiskMarks =
    std::vector<std::optional<DiskCounts>>;  // by storage: of its disk or first directory

DiskMarks disk_marks(const RealRunOptions& options) {
  DiskMarks marks;
  for (const RealStorage& storage : options.storages)
    marks.push_back(storage.raw                   ? read_disk_counts(storage.raw->name())
                    : storage.directories.empty() ? std::nullopt
                                                  : read_disk_counts(storage.directories.front()));
  return marks;
}

void add_storage_books(RealRun& run, const description::Scenario& scenario,
                       const RealMachine& machine, const DiskMarks& before,
                       const DiskMarks& after) {
  for (std::size_t i = 0; i < scenario.machine.storage.size(); ++i) {
    result::StorageTotals& totals = run.storage[scenario.machine.storage[i].name];
    const auto [read, written] = machine.moved(i);
    totals.asked = {read, written};
    if (!before[i] || !after[i]) continue;
    const DiskCounts counts = *after[i] - *before[i];
    totals.disk = result::StorageBytes{counts.bytes_read, counts.bytes_written};
  }
}

void add_leftovers(RealRun& run, const RealMachine& machine, std::size_t storages) {
  for (std::size_t i = 0; i < storages; ++i)
    for (const auto& directory : machine.directories(i)) {
      const Leftovers& removed = directory->removed();
      if (removed.directories)
        run.notes.push_back(text::filled(
            "removed what an earlier run had left: {} beside {}",
            {text::bytes(static_cast<double>(removed.bytes)), directory->path().string()}));
      for (const std::string& kept : removed.kept) run.notes.emplace_back(kept);
    }
}

std::vector<std::unique_ptr<Device>> make_devices(const description::Scenario& scenario,
                                                  const RealRunOptions& options,
                                                  MemoryBudget& memory) {
  std::vector<std::unique_ptr<Device>> devices;
  for (std::uint32_t rank = 0; rank < scenario.node_ranks(); ++rank)
    devices.push_back(options.make_device
                          ? options.make_device(rank)
                          : std::make_unique<HostDevice>(!options.synthetic, &memory,
                                                         scenario.machine.pcie.latency.value()));
  return devices;
}

}  // namespace

void require_support(const description::Scenario& scenario, const strategies::Prepared& prepared) {
  require_support(prepared.model, prepared.program.workload);
  if (scenario.strategy.weights.experts_on_cpu() &&
      scenario.node_ranks() > scenario.parallel.pipeline)
    description::refuse("strategy.weights.experts",
                        "ranks that share the experts of a CPU do not compute for real",
                        "use parallel.data, context and tensor 1");
}

RealRun run_for_real(const strategies::Decision& decision, const RealRunOptions& options) {
  const description::Scenario& scenario = decision->scenario;
  const strategies::Prepared& prepared = *decision->prepared;
  if (!options.synthetic) require_support(scenario, prepared);
  check_limits(0, 64 + 4 * options.storages.size() +
                      (scenario.strategy.io_engine == description::IoEngine::file ||
                               scenario.strategy.io_engine == description::IoEngine::buffered
                           ? 8 * prepared.model.weights.size() * scenario.node_ranks()
                           : 0));
  RealRun run;
  std::unique_ptr<IoEngine> engine = open_engine(options.engine);
  if (options.around_engine) engine = options.around_engine(std::move(engine));
  MemoryBudget memory;
  const auto devices = make_devices(scenario, options, memory);
  run.device = devices.front()->name();
  const DiskMarks before = disk_marks(options);
  {
    RealOptions real{options.storages, options.paced, options.synthetic, options.trace,
                     options.answer_s};
    RealMachine machine(scenario, prepared, real, *engine, memory, devices);
    const ProcessorTimes times = processor_times();
    run.result = strategies::run(machine, decision, "real", &run.delays);
    const text::Text others = other_work(times, processor_times(), "it ran");
    if (!others.empty()) run.notes.push_back(others);
    run.trace = std::move(machine.recorder().trace());
    run.memory = machine.memory_books();
    run.pins_in_steps = machine.pins_in_steps();
    run.trained = machine.take_trained();
    add_storage_books(run, scenario, machine, before, disk_marks(options));
    add_leftovers(run, machine, options.storages.size());
  }
  if (scenario.strategy.optimizer.device == description::OptimizerDevice::near_storage)
    run.notes.emplace_back("near_storage: emulated, by a worker of its own for each storage");
  run.io = engine->counters();
  for (const std::string& note : engine->notes()) run.notes.emplace_back(note);
  if (run.pins_in_steps > 0)
    run.notes.push_back(text::filled(
        "host memory was made known to GPUs, or unknown, {} times in steps after the first, which "
        "they waited for",
        {text::count(run.pins_in_steps)}));
  double clock_error_s = 0;
  for (const auto& each : devices) clock_error_s = std::max(clock_error_s, each->clock_error_s());
  if (clock_error_s > 0)
    run.notes.push_back(text::filled(
        "when operations of GPUs ran is by their own clocks, which ran within {} of this "
        "process's",
        {text::seconds(clock_error_s)}));
  for (const auto& each : devices)
    for (const std::string& note : each->notes()) run.notes.emplace_back(note);
  if (options.paced) {
    Worker::Pace pace;
    for (const auto& device : devices)
      if (const auto* host = dynamic_cast<const HostDevice*>(device.get())) pace += host->pace();
    run.pacing = result::Pacing{pace.jobs, pace.overruns, pace.largest_share, pace.late_s};
  }
  return run;
}

}  // namespace spillway::hw_backend
