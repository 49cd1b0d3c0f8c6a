#include "strategies/bounds/mandatory.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/bounds/least_demand.hpp"
#include "strategies/bounds/left_open.hpp"
#include "strategies/decide/decide.hpp"
#include "strategies/layout/chunk_knobs.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/rules/rules.hpp"
#include "strategies/run/counting_probe.hpp"
#include "strategies/run/endurance.hpp"
#include "strategies/run/run.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace spillway::strategies {

namespace {

using description::ActivationPolicy;
using description::GradientMemory;
using description::GradientPolicy;
using description::Scenario;
using result::Lifetime;
using result::PurposeRow;

/// Steps are steady to a thousandth, and each begins with what the one before left behind.
constexpr double unsteadiness = 2e-3;

/// Bytes at the peak of a tier that `counts` says are counted: `charged_bytes` with their rounding,
/// `asked_bytes` without.
std::uint64_t held(
    const char* tier, const result::PeakBytes& peak,
    const std::function<bool(const PurposeRow&)>& counts,
    std::uint64_t result::PeakEntry::*bytes_each = &result::PeakEntry::charged_bytes) {
  std::uint64_t bytes = 0;
  for (const result::PeakEntry& entry : peak.entries)
    if (!entry.kept && counts(*result::row_of(tier, entry.purpose)))
      bytes += entry.count * entry.*bytes_each;
  return bytes;
}

/// Held from the first step to the last: once they are there, all of them are.
std::uint64_t held_throughout(const char* tier, const result::PeakBytes& peak) {
  return held(tier, peak,
              [](const PurposeRow& row) { return row.lifetime == Lifetime::permanent; });
}

/// Passes allocate these in the order of their layers and never wait for them; they go when the
/// kernels that use them have run, which on a machine without time is as early as it can be.
/// Without rounding, which depends on what the allocator had before.
std::uint64_t held_in_passes(const result::PeakBytes& gpu) {
  return held(
      "gpu", gpu, [](const PurposeRow& row) { return row.lifetime == Lifetime::pass; },
      &result::PeakEntry::asked_bytes);
}

/// Whether tensors come and go one by one, and wait for room: only what stays is mandatory.
bool tensor_by_tensor(const Scenario& scenario) {
  return scenario.parallel.pipeline > 1 || plans_steps(scenario.strategy.system);
}

/// All that an update finds, of the rank's own shares.
std::uint64_t gradients_of_all(const Decided& counted) {
  return counted.tensors.at(0).sum([](const TensorRow& row) {
    const std::uint64_t ways = row.shards.gradient_ways();
    return row.trainable() ? row.gradient_format().bytes(row.share(ways)) : 0;
  });
}

/// What passes have on the GPU at once, of activations and of gradients that stay: at the peak of a
/// counted run, and when backward begins.
std::uint64_t passes_on_gpu(const Scenario& scenario, const Decided& counted,
                            const result::PeakBytes& peak) {
  if (tensor_by_tensor(scenario)) return 0;
  const auto of = [](Purpose purpose) {
    return [purpose](const PurposeRow& row) { return row.purpose == purpose; };
  };
  const bool resident = scenario.strategy.gradients.policy == GradientPolicy::resident &&
                        !scenario.training.optimizer_in_backward;
  const std::uint64_t gradients = resident ? held("gpu", peak, of(Purpose::gradients)) : 0;
  if (moves_by_plan(scenario.strategy.activations.policy))  // but logits, which nobody swaps
    return gradients + held("gpu", peak, of(Purpose::logits), &result::PeakEntry::asked_bytes);
  const std::uint64_t kept = bytes_of(counted.prepared->program, counted.fates, Fate::keep);
  if (resident && scenario.strategy.gradients.memory == GradientMemory::in_backward)
    return std::max({held_in_passes(peak), kept, gradients_of_all(counted)});
  return gradients + std::max(held_in_passes(peak), kept);
}

/// Bytes of weights and their states that each GPU's planner decides about: every step needs them
/// on the GPU, and changes them there.
std::vector<double> states_of(CountingMachine& machine) {
  std::vector<double> bytes(machine.topology().ranks, 0);
  for (std::uint32_t rank = 0; rank < bytes.size(); ++rank)
    for (const result::PeakEntry& entry : machine.ledger().peak(rank).entries)
      if (entry.purpose == to_string(Purpose::weights) ||
          entry.purpose == to_string(Purpose::optimizer_states))
        bytes[rank] += static_cast<double>(entry.count * entry.asked_bytes);
  const std::uint32_t alike = machine.topology().alike;
  if (alike > 1) bytes.resize(alike, bytes.front());
  return bytes;
}

/// Whether the planner decides where every tensor of a step is.
bool plans_all_tensors(const description::Strategy& strategy) {
  return left_open(strategy.activations.policy, activation_planner(strategy).has_value()).placement;
}

/// The same, with all of the update on the GPU.
bool plans_states(const description::Strategy& strategy) {
  return plans_all_tensors(strategy) && strategy.weights.home == description::Home::gpu &&
         strategy.optimizer.home == description::Home::gpu &&
         strategy.optimizer.device == description::OptimizerDevice::gpu &&
         strategy.optimizer.staleness == 0;
}

/// What a step takes to bring states in that lie elsewhere when it begins, and to take as many away
/// again: GPUs and the hosts of so many nodes hold no more than their memories.
double states_s(const std::vector<double>& states, const description::MachineFile& machine,
                double nodes) {
  const double gpu = static_cast<double>(machine.gpu.usable().value());
  const double host = nodes * static_cast<double>(machine.host.usable().value());
  double longest = 0, outside = 0;
  for (const double bytes : states) {
    outside += bytes - gpu;
    if (machine.gpu.gpudirect || bytes <= gpu) continue;
    for (const auto& rate : {machine.pcie.h2d, machine.pcie.d2h})
      if (rate.value() > 0) longest = std::max(longest, (bytes - gpu) / rate.value());
  }
  double read = 0, write = 0;
  for (const description::StorageSpec& storage : machine.storage) {
    read += nodes * storage.total_read().value();
    write += nodes * storage.total_write().value();
  }
  if (machine.storage.size() > 1) read = write = std::max(read, write);
  if (gpu == 0 || host == 0 || outside <= host || read <= 0 || write <= 0) return longest;
  const double in = (outside - host) / read, out = (outside - host) / write;
  return std::max({longest, in, out, (in + out) / machine.best_mix()});
}

/// The same job on a machine without limits, for a step behind a warm-up: all ask for the same. Of
/// updates a step late one more, as a run's last step has none. One more warm-up where the first
/// step selects columns: ranks that meet for it end it in another order than later ones, and with
/// it their late updates on this or that side of its end. What runs again in backward by a policy
/// does so here, so that a pipeline that is cut by time has the stages of the run.
Scenario unlimited(Scenario scenario) {
  scenario.strategy.gpu_capacity = description::GpuCapacity::unlimited;
  scenario.machine.host.memory = description::Bytes(0);
  for (description::StorageSpec& storage : scenario.machine.storage)
    storage.capacity = description::Bytes(0);
  scenario.run.warmup_steps = scenario.strategy.optimizer.selected_share > 0 ? 2 : 1;
  scenario.run.steps = scenario.strategy.optimizer.staleness == 1 ? 2 : 1;
  scenario.run.checkpoint = false;
  scenario.run.jitter = 0;  // nothing that is counted takes time
  if (plans_all_tensors(scenario.strategy)) {
    const System* resident = find_system("resident");
    ENSURE(resident, "no resident");
    scenario.strategy = resident->defaults();
    scenario.strategy.gpu_capacity = description::GpuCapacity::unlimited;
  }
  ActivationPolicy& policy = scenario.strategy.activations.policy;
  policy = description::with_room_for_all(policy);
  // copies for norms take the place of a pass's temporaries: what the pass needs is to be seen
  scenario.strategy.gradients.norm = description::GradientNorm::in_place;
  const ChunkKnobs chunks = chunk_knobs(scenario.strategy);
  if (chunks.used && !chunks.cache)  // as many stay as the machine has room for
    scenario.strategy.weights.chunk_cache = {description::Bytes(1'000'000'000'000'000)};
  // a layer that runs again passes three times: where it need not, more of them stay within reuse
  description::Params& reuse = scenario.strategy.weights.max_reuse;
  constexpr std::uint64_t any_layer = std::uint64_t{1} << 62;
  if (left_open(scenario.strategy).recomputation && reuse.value() > 0 && reuse.value() < any_layer)
    reuse = description::Params(reuse.value() / 2 * 3 + 3);
  return scenario;
}

/// Bytes that all storages of so many nodes move, at the rate of all of them together.
double together_s(const Demand& demand, const description::MachineFile& machine, double nodes) {
  double bytes = 0, rate = 0;
  for (const PhaseDemand& phase : demand.phases)
    for (const StorageDemand& storage : phase.storages)
      bytes += static_cast<double>(storage.read + storage.written);
  for (const description::StorageSpec& storage : machine.storage)
    rate += nodes * std::max(storage.total_read().value(), storage.total_write().value());
  return bytes > 0 && rate > 0 ? bytes / rate / machine.best_mix() : 0;
}

/// The decision for a machine without limits. Where a planner would decide what runs again, nothing
/// but inputs of blocks stays, and no more runs again than has to.
Decision decide_without_limits(const Scenario& counted, const LeftOpen& open) {
  require_supported(counted);
  auto prepared = std::make_shared<const Prepared>(prepare(counted));
  if (!open.recomputation) return decide_settled(counted, std::move(prepared), counting_probe());
  ActivationPlan fates = checkpoint_blocks(prepared->model, prepared->program, Fate::keep);
  fates.whole_layers = false;
  return decide_given(counted, std::move(prepared), std::move(fates));
}

/// Of each stage of a pipeline.
///   by_time  its stages where they are cut by time
std::vector<std::size_t> layers_of(const Prepared& prepared, const Scenario& scenario,
                                   const std::vector<StageLayers>& by_time) {
  std::vector<std::size_t> layers;
  if (scenario.parallel.pipeline == 1) return layers;
  const std::vector<StageLayers> stages =
      by_time.empty() ? stage_layers(prepared.model, prepared.program, scenario) : by_time;
  for (const StageLayers& stage : stages) layers.push_back(stage.last - stage.first);
  return layers;
}

}  // namespace

std::optional<Mandatory> Mandatory::of(const Scenario& scenario, Fold fold) {
  if (scenario.run.io_bench) return std::nullopt;
  const LeftOpen open = left_open(scenario.strategy);
  const Scenario counted = unlimited(scenario);
  std::optional<Decision> decision;
  try {
    decision = decide_without_limits(counted, open);
  } catch (const description::ScenarioError&) {
    return std::nullopt;  // the stand-in of a planned system cannot run such a job
  }
  CountingMachine machine(setup_for((*decision)->scenario, false, false, fold));
  machine.trust_order();
  const result::Result result = run(machine, *decision, "counting");
  if (machine.micro_batches_differ()) return of(scenario, Fold::nothing);
  if (!result.feasible()) return std::nullopt;
  const std::uint64_t warmup = (*decision)->scenario.run.warmup_steps;
  // ended before its time: ranks that were taken for equal are not
  if (fold == Fold::equals && machine.unlike() && machine.demands().size() < warmup + 2)
    return of(scenario, Fold::nothing);
  Mandatory mandatory;
  const std::span<const Demand> from_last_warmup = std::span(machine.demands()).subspan(warmup - 1);
  mandatory.demand_ = least_step(from_last_warmup, scenario.strategy.optimizer.staleness == 1);
  const std::uint32_t alike = machine.topology().alike;
  if (alike > 1) mandatory.demand_ = mandatory.demand_.of_alike(alike);
  const Prepared& prepared = *(*decision)->prepared;
  if (counted.parallel.cut_by_time()) {
    mandatory.cut_ = std::make_shared<const TimedCut>(prepared.model, prepared.program, counted);
    mandatory.stages_ = mandatory.cut_->stages(counted);
  }
  mandatory.layers_ = layers_of(prepared, counted, mandatory.stages_);
  mandatory.storages_apart_ = scenario.machine.storage.size() < 2;
  mandatory.nodes_ = machine.topology().simulated_nodes();
  leave_out(mandatory.demand_, open);
  if (plans_states(scenario.strategy) && !scenario.strategy.unlimited_gpu())
    mandatory.states_ = states_of(machine);
  if (open.placement) return mandatory;
  mandatory.host_ = held_throughout("host", result.host);
  mandatory.gpu_ =
      held_throughout("gpu", result.gpu) + passes_on_gpu(scenario, **decision, result.gpu);
  if (scenario.strategy.optimizer.paths.empty())
    mandatory.drives_ = held_throughout("ssd", result.ssd);
  return mandatory;
}

bool Mandatory::holds_for(const Scenario& scenario) const {
  return !cut_ || cut_->stages(scenario) == stages_;
}

Bounds Mandatory::busy(const Scenario& scenario) const {
  Bounds bounds = bounds_of(demand_, scenario);
  if (!storages_apart_) bounds.storages.assign(1, together_s(demand_, scenario.machine, nodes_));
  return bounds;
}

double Mandatory::step_s(const Scenario& scenario) const {
  const double step = std::max(busy(scenario).step(), states_s(states_, scenario.machine, nodes_));
  return step * (1 - unsteadiness);
}

double Mandatory::pipeline_s(const Scenario& scenario) const {
  return pipeline_seconds(demand_, scenario, layers_) * (1 - unsteadiness);
}

MandatoryBytes Mandatory::bytes(const description::MachineFile& machine) const {
  MandatoryBytes bytes;
  bytes.host = static_cast<double>(host_);
  bytes.gpu = static_cast<double>(gpu_);
  bytes.drives = static_cast<double>(drives_);
  const double part = (1 - unsteadiness) / nodes_;
  for (std::size_t phase = 1; phase < demand_.phases.size(); ++phase)
    for (const RankDemand& rank : demand_.phases[phase].ranks) {
      bytes.h2d += static_cast<double>(rank.h2d + rank.pageable_h2d) * part;
      bytes.d2h += static_cast<double>(rank.d2h + rank.pageable_d2h) * part;
    }
  for (std::size_t i = 0; i < machine.storage.size(); ++i) {
    const bool drive = machine.storage[i].kind == description::StorageKind::ssd;
    if (!drive && !storages_apart_) bytes.drive_read = bytes.drive_written = 0;
    if (!drive) return bytes;  // which storage gets what is open
    for (const PhaseDemand& phase : demand_.phases)
      for (std::size_t at = i; at < phase.storages.size(); at += machine.storage.size()) {
        bytes.drive_read += static_cast<double>(phase.storages[at].read) * part;
        bytes.drive_written += static_cast<double>(phase.storages[at].written) * part;
      }
  }
  return bytes;
}

const char* Mandatory::too_small(const description::MachineFile& machine) const {
  const std::uint64_t host = machine.host.usable().value(), gpu = machine.gpu.usable().value();
  const std::uint64_t at_gpu = machine.gpu.one_memory ? gpu_ : 0;  // it takes the host's
  if (host > 0 && host_ + at_gpu > host) return "host";
  if (gpu > 0 && gpu_ > gpu) return "gpu";
  std::uint64_t room = 0;
  for (const description::StorageSpec& storage : machine.storage) {
    if (storage.kind != description::StorageKind::ssd) continue;
    if (storage.capacity.value() == 0) return nullptr;
    room += storage.total_room().value();
  }
  return drives_ > room && room > 0 ? "ssd" : nullptr;
}

bool operator_too_large(const Scenario& scenario) {
  const std::uint64_t gpu = scenario.machine.gpu.usable().value();
  if (gpu == 0 || scenario.strategy.unlimited_gpu() || tensor_by_tensor(scenario)) return false;
  const Prepared prepared = prepare(scenario);
  using models::TensorRole;
  const auto in_pass = [](TensorRole role) {
    return role == TensorRole::activation || role == TensorRole::activation_gradient ||
           role == TensorRole::logits;
  };
  const auto too_large = [&](const models::Operator& one) {
    std::uint64_t bytes = one.workspace.value();
    for (const models::Operand& operand : one.operands) {
      const models::Tensor& tensor = prepared.program.tensors[operand.tensor];
      if (in_pass(tensor.role)) bytes += tensor.bytes.value();
    }
    return bytes > gpu;
  };
  return std::any_of(prepared.program.operators.begin(), prepared.program.operators.end(),
                     too_large);
}

namespace {

/// Bytes that a drive takes in its life at most, of each storage that wears; nothing where one has
/// no rating.
std::optional<std::vector<double>> lives_of(const description::MachineFile& machine) {
  std::vector<double> lives;
  for (const description::StorageSpec& storage : machine.storage) {
    if (storage.kind != description::StorageKind::ssd) continue;
    const auto waf = storage.endurance ? storage.endurance->waf : std::nullopt;
    const std::optional<double> life = lifetime_writes(storage, waf.value_or(1));
    if (!life) return std::nullopt;
    lives.push_back(*life);
  }
  return lives;
}

}  // namespace

double longest_life_years(const MandatoryBytes& bytes, const description::MachineFile& machine,
                          double longest_s) {
  constexpr double year_s = 365 * 86400.0, forever = std::numeric_limits<double>::infinity();
  const auto lives = lives_of(machine);
  if (!lives || bytes.drive_written <= 0) return forever;
  // of shares w_i of the writes and lives L_i, the least L_i / w_i is at most the sum of all L_i
  return std::accumulate(lives->begin(), lives->end(), 0.0) / bytes.drive_written * longest_s /
         year_s;
}

double least_wear_usd(const MandatoryBytes& bytes, const description::MachineFile& machine) {
  const auto lives = lives_of(machine);
  if (!lives || bytes.drive_written <= 0 || !machine.prices_usd) return 0;
  double cheapest = std::numeric_limits<double>::infinity();
  std::size_t next = 0;
  for (const description::StorageSpec& storage : machine.storage)
    if (storage.kind == description::StorageKind::ssd)
      cheapest = std::min(cheapest, storage.price_usd.value_or(machine.prices_usd->ssd) *
                                        static_cast<double>(storage.count) / (*lives)[next++]);
  return cheapest * bytes.drive_written;
}

}  // namespace spillway::strategies
