#include "strategies/counting/mandatory.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/activation_plan.hpp"
#include "strategies/catalogue.hpp"
#include "strategies/endurance.hpp"
#include "strategies/parts/weight_chunks.hpp"
#include "strategies/run.hpp"

#include <algorithm>
#include <limits>
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
constexpr const char* gpu_throughout[] = {"context", "optimizer_states"};
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

/// What every layer has saved on the GPU when backward begins.
std::uint64_t saved_on_gpu(const Scenario& scenario, const Prepared& prepared) {
  const ActivationPolicy policy = scenario.strategy.activations.policy;
  const bool planned = policy == ActivationPolicy::swap || policy == ActivationPolicy::plan ||
                       policy == ActivationPolicy::tensor_cache;
  if (planned || scenario.parallel.pipeline > 1) return 0;
  return bytes_of(prepared.program, plan_activations(scenario, prepared.model, prepared.program),
                  Fate::keep);
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

void drop_storages(PhaseDemand& phase) {
  std::fill(phase.storages.begin(), phase.storages.end(), StorageDemand{});
}

/// What of a step's demand a system decides by the machine: it is in no bound.
struct Decided {
  bool recomputation = false;  ///< which kernels run again, and with them where activations go
  bool states = false;         ///< which states spare memory keeps off the drives
  bool placement = false;      ///< which tensors move, or which updates a step has
};

Decided decided_by(const description::Strategy& strategy) {
  const description::OptimizerPart& optimizer = strategy.optimizer;
  return {strategy.activations.policy == ActivationPolicy::swap,
          optimizer.home == description::Home::ssd && (!optimizer.buffers || !optimizer.host_cache),
          strategy.activations.policy == ActivationPolicy::plan ||
              optimizer.staleness == description::any_staleness};
}

void leave_out(RankDemand& rank, const Decided& decided) {
  const double products = rank.flops - rank.recompute_flops;
  if (decided.placement) rank = {};
  if (!decided.placement && !decided.recomputation) return;
  rank.flops = products;
  rank.recompute_flops = rank.pass_bytes = rank.other_bytes = 0;
  rank.kernels = 0;
}

void leave_out(Demand& demand, const Decided& decided) {
  for (PhaseDemand& phase : demand.phases) {
    for (RankDemand& rank : phase.ranks) leave_out(rank, decided);
    if (decided.states || decided.placement) drop_storages(phase);
    if (!decided.placement) continue;
    phase.cpu_elements = {};
    phase.cpu_traffic = {};
    phase.host_copies = 0;
  }
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
  const Decided decided = decided_by(scenario.strategy);
  leave_out(mandatory.demand_, decided);
  if (decided.placement) return mandatory;
  mandatory.host_ = held(result.host, host_throughout);
  mandatory.gpu_ = held(result.gpu, gpu_throughout) + saved_on_gpu(scenario, *prepared);
  if (scenario.strategy.optimizer.paths.empty())
    mandatory.drives_ = held(result.ssd, drives_throughout);
  return mandatory;
}

double Mandatory::step_s(const Scenario& scenario) const {
  Bounds bounds = bounds_of(demand_, scenario);
  if (!storages_apart_) bounds.storages.assign(1, together_s(demand_, scenario.machine));
  return bounds.step() * (1 - unsteadiness);
}

double Mandatory::drive_writes(const description::MachineFile& machine) const {
  double bytes = 0;
  for (std::size_t i = 0; i < machine.storage.size(); ++i) {
    const bool drive = machine.storage[i].kind == description::StorageKind::ssd;
    if (!drive && !storages_apart_) return 0;  // which one gets them is open
    for (const PhaseDemand& phase : demand_.phases)
      if (drive) bytes += static_cast<double>(phase.storages[i].written);
  }
  return bytes * (1 - unsteadiness);
}

double Mandatory::lifetime_years(const description::MachineFile& machine, double longest_s) const {
  constexpr double year_s = 365 * 86400.0, forever = std::numeric_limits<double>::infinity();
  // of shares w_i of the writes and lives L_i, the least L_i / w_i is at most the sum of all L_i
  double lives = 0;
  for (const description::StorageSpec& storage : machine.storage) {
    if (storage.kind != description::StorageKind::ssd) continue;
    const auto waf = storage.endurance ? storage.endurance->waf : std::nullopt;
    const std::optional<double> life = lifetime_writes(storage, waf.value_or(1));
    if (!life) return forever;
    lives += *life;
  }
  const double writes = drive_writes(machine);
  return writes > 0 ? lives / writes * longest_s / year_s : forever;
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
