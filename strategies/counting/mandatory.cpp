#include "strategies/counting/mandatory.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/activation_plan.hpp"
#include "strategies/catalogue.hpp"
#include "strategies/parts/weight_chunks.hpp"
#include "strategies/run.hpp"

#include <algorithm>
#include <span>

namespace spillway::strategies {

namespace {

using description::ActivationPolicy;
using description::Scenario;

/// Steps are steady to a thousandth, and each begins with what the one before left behind.
constexpr double unsteadiness = 2e-3;

/// Held from the first step to the last, by the name of their purpose: once they are there, all of
/// them are.
constexpr const char* host_throughout[] = {
    "parameter_pool",  "parameter_flat_buffer", "gradient_flat_buffer",
    "master_weights",  "optimizer_states",      "optimizer_swap_buffers",
    "swap_out_buffer", "process_base",          "runtime_base"};
constexpr const char* gpu_throughout[] = {"context", "optimizer_states", "reduce_buckets"};
/// A pass allocates these in the order of its layers and never waits for them; they go when the
/// kernels that use them have run, which on a machine without time is as early as it can be.
constexpr const char* gpu_in_passes[] = {"activations", "logits", "workspace"};
constexpr const char* drives_throughout[] = {"weights", "optimizer_states"};

/// Bytes with their rounding.
template <class List>
std::uint64_t held(const result::PeakBytes& peak, const List& purposes) {
  std::uint64_t bytes = 0;
  for (const result::PeakEntry& entry : peak.entries)
    if (!entry.kept &&
        std::find(std::begin(purposes), std::end(purposes), entry.purpose) != std::end(purposes))
      bytes += entry.count * entry.charged_bytes;
  return bytes;
}

/// What passes have on the GPU at once: at the peak of a counted run, and when backward begins.
std::uint64_t passes_on_gpu(const Scenario& scenario, const Prepared& prepared,
                            const result::PeakBytes& peak) {
  const ActivationPolicy policy = scenario.strategy.activations.policy;
  const bool planned = policy == ActivationPolicy::swap || policy == ActivationPolicy::plan ||
                       policy == ActivationPolicy::tensor_cache;
  if (planned || scenario.parallel.pipeline > 1) return 0;
  std::uint64_t at_once = 0;  // without rounding, which depends on what the allocator had before
  for (const result::PeakEntry& entry : peak.entries)
    if (!entry.kept && std::find(std::begin(gpu_in_passes), std::end(gpu_in_passes),
                                 entry.purpose) != std::end(gpu_in_passes))
      at_once += entry.count * entry.asked_bytes;
  return std::max(
      at_once, bytes_of(prepared.program,
                        plan_activations(scenario, prepared.model, prepared.program), Fate::keep));
}

template <class Number>
void keep_less(Number& least, const Number& other) {
  least = std::min(least, other);
}

void keep_least(RankDemand& least, const RankDemand& other) {
  for (const auto member :
       {&RankDemand::flops, &RankDemand::pass_bytes, &RankDemand::other_bytes,
        &RankDemand::update_bytes, &RankDemand::updated, &RankDemand::side_bytes})
    keep_less(least.*member, other.*member);
  least.recompute_flops = std::max(least.recompute_flops, other.recompute_flops);
  for (const auto member :
       {&RankDemand::kernels, &RankDemand::side_kernels, &RankDemand::h2d, &RankDemand::d2h,
        &RankDemand::pageable_h2d, &RankDemand::pageable_d2h, &RankDemand::gpu_copies,
        &RankDemand::collectives, &RankDemand::sent, &RankDemand::to_peers, &RankDemand::to_nodes})
    keep_less(least.*member, other.*member);
}

void keep_least(PhaseDemand& least, const PhaseDemand& other) {
  for (std::size_t i = 0; i < least.ranks.size(); ++i) keep_least(least.ranks[i], other.ranks[i]);
  for (std::size_t i = 0; i < least.storages.size(); ++i)
    for (const auto member : {&StorageDemand::reads, &StorageDemand::writes, &StorageDemand::read,
                              &StorageDemand::written, &StorageDemand::inside_read,
                              &StorageDemand::inside_written, &StorageDemand::elements})
      keep_less(least.storages[i].*member, other.storages[i].*member);
  for (std::size_t work = 0; work < cpu_work_count; ++work) {
    keep_less(least.cpu_elements[work], other.cpu_elements[work]);
    keep_less(least.cpu_traffic[work], other.cpu_traffic[work]);
  }
  keep_less(least.host_copies, other.host_copies);
}

/// The least of all steps after the set-up and the first one.
///   late  the last update is behind the last step
Demand least_step(std::span<const Demand> steps, bool late) {
  if (late) steps = steps.first(steps.size() - 1);
  ENSURE(steps.size() > 2, "a run has a set-up, a warm-up and a step");
  Demand least = steps.back();
  for (std::size_t i = 2; i + 1 < steps.size(); ++i)
    for (std::size_t phase = 0; phase < least.phases.size(); ++phase)
      keep_least(least.phases[phase], steps[i].phases[phase]);
  return least;
}

/// Leaves the matrix products that any plan for memory has.
void keep_matrix_products(Demand& demand) {
  for (PhaseDemand& phase : demand.phases) {
    for (RankDemand& rank : phase.ranks) {
      const double flops = rank.flops - rank.recompute_flops;
      rank = {};
      rank.flops = flops;
    }
    std::fill(phase.storages.begin(), phase.storages.end(), StorageDemand{});
    phase.cpu_elements = {};
    phase.cpu_traffic = {};
    phase.host_copies = 0;
  }
}

/// Leaves out what recomputation adds: which kernels run again depends on the plan.
void drop_recomputation(Demand& demand) {
  for (PhaseDemand& phase : demand.phases)
    for (RankDemand& rank : phase.ranks) {
      rank.flops -= rank.recompute_flops;
      rank.recompute_flops = rank.pass_bytes = rank.other_bytes = 0;
      rank.kernels = 0;
    }
}

/// Leaves out what the update takes: no step waits for it.
void drop_update(Demand& demand) {
  for (PhaseDemand& phase : demand.phases) {
    std::fill(phase.storages.begin(), phase.storages.end(), StorageDemand{});
    phase.cpu_elements = {};
    phase.cpu_traffic = {};
    phase.host_copies = 0;
  }
}

void drop_storages(Demand& demand) {
  for (PhaseDemand& phase : demand.phases)
    std::fill(phase.storages.begin(), phase.storages.end(), StorageDemand{});
}

/// The same job on a machine without limits, for two steps.
Scenario unlimited(Scenario scenario) {
  scenario.strategy.unlimited_gpu = true;
  scenario.machine.host.memory = description::Bytes(0);
  for (description::StorageSpec& storage : scenario.machine.storage)
    storage.capacity = description::Bytes(0);
  scenario.run.warmup_steps = 1;
  scenario.run.steps = 2;
  scenario.run.checkpoint = false;
  if (scenario.strategy.activations.policy == ActivationPolicy::plan) {
    const System* resident = find_system("resident");
    ENSURE(resident, "no resident");
    scenario.strategy = resident->defaults();
    scenario.strategy.unlimited_gpu = true;
  }
  if (scenario.strategy.activations.policy == ActivationPolicy::tensor_cache)
    scenario.strategy.activations.policy = ActivationPolicy::keep;
  const ChunkKnobs chunks = chunk_knobs(scenario.strategy);
  if (chunks.used && !chunks.cache)  // as many stay as the machine has room for
    scenario.strategy.further["weights.chunk_cache"] = "\"1000 TB\"";
  return scenario;
}

/// Which updates a step has, or which tensors it moves, follows from the machine.
bool decides_by_machine(const description::Strategy& strategy) {
  return strategy.activations.policy == ActivationPolicy::plan ||
         strategy.optimizer.staleness == description::any_staleness;
}

/// Spare host memory may keep states off the drives.
bool caches_states(const description::OptimizerPart& optimizer) {
  return optimizer.home == description::Home::ssd && (!optimizer.buffers || !optimizer.host_cache);
}

/// Bytes that all storages move, at the rate of all of them together.
double together_s(const Demand& demand, const description::MachineFile& machine) {
  double bytes = 0, rate = 0;
  for (const PhaseDemand& phase : demand.phases)
    for (const StorageDemand& storage : phase.storages)
      bytes += static_cast<double>(storage.read + storage.written);
  for (const description::StorageSpec& storage : machine.storage)
    rate += std::max(storage.total_read().value(), storage.total_write().value());
  return bytes > 0 && rate > 0 ? bytes / rate : 0;
}

}  // namespace

std::optional<Mandatory> Mandatory::of(const Scenario& scenario) {
  if (scenario.run.io_bench) return std::nullopt;
  const Scenario counted = unlimited(scenario);
  std::optional<Prepared> prepared;
  try {
    prepared = prepare(counted);
  } catch (const description::ScenarioError&) {
    return std::nullopt;  // the stand-in of a planned system cannot run such a job
  }
  const bool swaps = counted.strategy.activations.policy == ActivationPolicy::swap;
  if (swaps) {
    prepared->activations = checkpoint_blocks(prepared->model, prepared->program, Fate::keep);
    prepared->activations->whole_layers = false;
  }
  CountingMachine machine(counted);
  const result::Result result = run(machine, counted, *prepared, "counting");
  if (!result.feasible()) return std::nullopt;
  Mandatory mandatory;
  mandatory.demand_ = least_step(machine.demands(), scenario.strategy.optimizer.staleness == 1);
  mandatory.storages_apart_ = scenario.machine.storage.size() < 2;
  if (swaps) drop_recomputation(mandatory.demand_);
  if (decides_by_machine(scenario.strategy)) {
    keep_matrix_products(mandatory.demand_);
    return mandatory;
  }
  mandatory.host_ = held(result.host, host_throughout);
  mandatory.gpu_ =
      held(result.gpu, gpu_throughout) + passes_on_gpu(scenario, *prepared, result.gpu);
  if (scenario.strategy.optimizer.paths.empty())
    mandatory.drives_ = held(result.ssd, drives_throughout);
  if (caches_states(scenario.strategy.optimizer)) drop_storages(mandatory.demand_);
  if (scenario.strategy.optimizer.staleness == description::any_staleness)
    drop_update(mandatory.demand_);
  return mandatory;
}

double Mandatory::step_s(const Scenario& scenario) const {
  Bounds bounds = bounds_of(demand_, scenario);
  if (!storages_apart_) bounds.storages.assign(1, together_s(demand_, scenario.machine));
  return bounds.step() * (1 - unsteadiness);
}

const char* Mandatory::too_small(const description::MachineFile& machine) const {
  const std::uint64_t host = machine.host.memory.value(), gpu = machine.gpu.memory.value();
  if (host > 0 && host_ > host) return "host";
  if (gpu > 0 && gpu_ > gpu) return "gpu";
  std::uint64_t room = 0;
  for (const description::StorageSpec& storage : machine.storage) {
    if (storage.capacity.value() == 0) return nullptr;
    room += storage.total_capacity().value();
  }
  return drives_ > room && room > 0 ? "ssd" : nullptr;
}

}  // namespace spillway::strategies
