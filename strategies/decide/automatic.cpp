#include "strategies/decide/automatic.hpp"

#include "scenarios/description/quantity.hpp"
#include "strategies/decide/decide.hpp"
#include "strategies/layout/buffers.hpp"
#include "strategies/layout/chunk_knobs.hpp"
#include "strategies/layout/planned_settings.hpp"
#include "strategies/rules/rules.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>
#include <limits>

namespace spillway::strategies {

namespace {

using description::OptimizerPart;

/// What a run with so many swap buffers for each path takes as an update needs at least.
Peaks least_peaks(description::Scenario scenario, const Prepared& prepared, const Probe& probe) {
  scenario.machine.host.memory = description::Bytes(0);  // unlimited: what it would take
  scenario.run.warmup_steps = 1;
  scenario.run.steps = 1;
  const ActivationPlan fates = decide_fates(scenario, prepared, probe).activations;
  // a GPU or drive that is too small does not hide what the host holds
  return probe({scenario, prepared, fates, true});
}

/// Buffers of a path that are of any use; without end where nobody counted the sub-groups.
std::uint64_t most_useful(const description::Scenario& scenario, const Peaks& least,
                          std::uint64_t paths) {
  if (!least.subgroups) return std::numeric_limits<std::uint64_t>::max();
  return most_useful_buffers(
      scenario, description::divide_up(*least.subgroups, scenario.node_ranks()), paths);
}

/// Buffers of a path, of `columns` on a node, that fill host memory as far as they may; without end
/// where it has none.
std::uint64_t that_fit(const description::Scenario& scenario, const Peaks& least,
                       std::uint64_t columns) {
  const std::uint64_t memory = scenario.machine.host.usable().value();
  if (memory == 0) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t each = least.swap_buffer_bytes;
  const double room = scenario.strategy.optimizer.host_fill * static_cast<double>(memory);
  const double others = static_cast<double>(least.host - least.swap_buffers * each);
  return static_cast<std::uint64_t>(
      std::max((room - others) / static_cast<double>(columns * each), 0.0));
}

/// The same rates whatever the machine's are: they decide nothing of what ZeRO-Infinity holds, and
/// plans for slower GPUs and drives are counted once.
void forget_rates(description::MachineFile& machine) {
  const auto forget = [](auto& rate) {
    if (rate.value() > 0) rate = std::remove_reference_t<decltype(rate)>(1e12);
  };
  for (auto* rates : {&machine.gpu.compute, &machine.gpu.attention})
    for (auto& [type, rate] : *rates) forget(rate);
  forget(machine.gpu.memory_rate);
  for (auto* rate : {&machine.gpu.reduction, &machine.gpu.permute})
    if (*rate) forget(**rate);
  for (description::StorageSpec& storage : machine.storage) {
    forget(storage.read);
    forget(storage.write);
    storage.array_read.reset();
    storage.array_write.reset();
    if (storage.slc_cache) forget(storage.slc_cache->folded_write);
  }
}

/// Bytes of host memory that ZeRO-Infinity takes for the same job, weights in host memory, a
/// tensor-parallel rank for each pipeline stage; 0 where it cannot run it. Of several nodes, each
/// with some of the stages, its part of what one of them all would take.
std::uint64_t host_of_zero_infinity(description::Scenario scenario, const Probe& probe) {
  scenario.strategy = defaults_of("zero_infinity");
  scenario.strategy.weights.home = description::Home::host;
  scenario.strategy.weights.pool = description::PoolKind::none;
  scenario.strategy.weights.pinned = description::PinnedPolicy::exact;
  // as TeraIO ran it in fp32: nothing that overflows, gradients that the CPU adds, no pipeline
  scenario.strategy.overflow_check = description::OverflowCheck::none;
  scenario.strategy.gradients.convert = description::ConvertOn::cpu;
  scenario.strategy.gradients.init_copy = false;
  scenario.strategy.optimizer.pipeline_read = scenario.strategy.optimizer.pipeline_write = false;
  scenario.strategy.optimizer.buffers = 4;
  scenario.strategy.optimizer.subgroup = description::Params(1'000'000'000);
  scenario.strategy.gpu_capacity = description::GpuCapacity::unlimited;
  const std::uint64_t ranks = scenario.parallel.pipeline, of_node = scenario.node_ranks();
  scenario.parallel = {1, ranks, 1, 3};
  if (of_node < ranks) scenario.machine.gpu.count = ranks;
  auto& micro_batches = scenario.training.gradient_accumulation;
  micro_batches = std::min<std::uint64_t>(2, micro_batches);  // the peak is the second one's
  scenario.run.checkpoint = false;
  forget_rates(scenario.machine);
  if (scenario.machine.storage.empty() || !unsupported(scenario).empty()) return 0;
  try {
    return least_peaks(scenario, prepare(scenario), probe).host * of_node / ranks;
  } catch (const description::ScenarioError&) {
    return 0;  // heads that so many ranks do not divide
  }
}

/// A rate for migrations is a link of its own, each way, to memory without end.
void replace_migration_path(description::Scenario& scenario, double rate) {
  description::MachineFile& machine = scenario.machine;
  if (!machine.peer_rate()) machine.gpu.peer_rate = std::min(machine.pcie.h2d, machine.pcie.d2h);
  machine.gpu.peer_access = true;  // not by the way of migrations
  machine.pcie.h2d = machine.pcie.d2h = description::BytesPerSecond(rate);
  machine.pcie.latency = description::Seconds(0);
  machine.pcie.link.reset();
  machine.host.memory = description::Bytes(0);
  machine.host.memory_rate = description::BytesPerSecond(
      std::max(machine.host.memory_rate.value(),
               8 * rate * static_cast<double>(machine.gpu.count)));  // no bound of its own
  scenario.strategy.plan.destinations = {description::PlanDestination::host};
  scenario.strategy.plan.migration_rate.emplace();
}

/// What a plan may fill where nothing else limits it: all of a node's memory, or 256 TiB of one
/// without end.
std::uint64_t all_of_host(const description::MachineFile& machine) {
  const std::uint64_t usable = machine.host.usable().value();
  return usable ? usable : std::uint64_t{1} << 48;
}

description::Scenario resolve_plan(description::Scenario scenario, const Probe& probe) {
  const PlanKnobs knobs = plan_knobs(scenario.strategy);
  if (knobs.migration_rate) replace_migration_path(scenario, *knobs.migration_rate);
  const auto& allowed = plan_knobs(scenario.strategy).destinations;
  const bool host = std::find(allowed.begin(), allowed.end(), description::PlanDestination::host) !=
                    allowed.end();
  if (!host || knobs.host_limit) return scenario;
  const std::uint64_t limit = knobs.migration_rate ? 0 : host_of_zero_infinity(scenario, probe);
  scenario.strategy.plan.host_limit = {
      description::Bytes(limit ? limit : all_of_host(scenario.machine))};
  return scenario;
}

/// What a run without idle chunks leaves of GPU memory.
void resolve_chunks(description::Scenario& scenario, const Prepared& prepared, const Probe& probe,
                    Filled& filled) {
  if (!chunk_knobs(scenario.strategy).used || chunk_knobs(scenario.strategy).cache) return;
  const std::uint64_t memory = scenario.machine.gpu.usable().value();
  std::uint64_t cache = std::uint64_t{1} << 60;  // all of them
  if (memory && !scenario.strategy.unlimited_gpu()) {
    const std::uint64_t taken =
        peaks_with(probe, scenario, prepared, decide_fates(scenario, prepared, probe).activations)
            .gpu;
    cache = memory - std::min(memory, taken);
    filled.gpu_peak = taken;
  }
  scenario.strategy.weights.chunk_cache = {description::Bytes(cache)};
}

}  // namespace

description::Scenario resolve_automatic(description::Scenario scenario, const Prepared& prepared,
                                        const Probe& probe, Filled* filled) {
  Filled unasked;
  if (!filled) filled = &unasked;
  if (scenario.strategy.activations.policy == description::ActivationPolicy::plan &&
      !activation_planner(scenario.strategy))
    return resolve_plan(std::move(scenario), probe);
  resolve_chunks(scenario, prepared, probe, *filled);
  OptimizerPart& optimizer = scenario.strategy.optimizer;
  if (optimizer.device == description::OptimizerDevice::gpu ||
      optimizer.home != description::Home::ssd || optimizer.buffers)
    return scenario;
  const Peaks least = least_peaks(scenario, prepared, probe);
  const std::uint64_t buffers = least.swap_buffers, each = least.swap_buffer_bytes;
  const std::uint64_t paths = std::max<std::size_t>(1, optimizer.paths.size());
  const std::uint64_t columns = scenario.node_ranks() * paths;  // of one buffer each
  if (buffers == 0) return scenario;
  const std::uint64_t needed = description::divide_up(buffers, columns);
  const std::uint64_t useful = most_useful(scenario, least, paths);
  optimizer.buffers = std::min(useful, std::max(needed, that_fit(scenario, least, columns)));
  filled->host = (*optimizer.buffers - std::min(*optimizer.buffers, needed)) * columns * each;
  return scenario;
}

}  // namespace spillway::strategies
