#include "strategies/run/numerics.hpp"

#include "models/architecture/architecture.hpp"
#include "scenarios/description/errors.hpp"
#include "strategies/layout/landing.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>

namespace spillway::strategies {

using description::ElementType;
using description::GradientPolicy;
using description::Width;

namespace {

bool runs_again(const description::Strategy& strategy) {
  using description::ActivationPolicy;
  const ActivationPolicy policy = strategy.activations.policy;
  return policy == ActivationPolicy::checkpoint_gpu ||
         policy == ActivationPolicy::checkpoint_host || policy == ActivationPolicy::checkpoint_ssd;
}

bool several_layers_share_weights(const description::Scenario& scenario) {
  const models::Architecture model = models::architecture_of(scenario);
  return model.tied_embeddings || model.relative_position_buckets > 0;
}

/// Some gradients are sums over tensor ranks, as Job::partial says.
bool has_parts(const description::Scenario& scenario) {
  if (scenario.parallel.tensor == 1) return false;
  return scenario.parallel.sequence_parallel ||
         description::has_adapters(scenario.training.method) ||
         models::architecture_of(scenario).head_norm == models::HeadNorm::per_head ||
         models::architecture_of(scenario).experts > 0;
}

Numerics streaming_numerics(const description::Scenario& scenario) {
  const description::Strategy& strategy = scenario.strategy;
  const bool offloads = strategy.optimizer.device != description::OptimizerDevice::gpu;
  Numerics numerics;
  numerics.precision = scenario.training.precision;
  numerics.states = scenario.training.optimizer_state;
  numerics.method = scenario.training.method;
  numerics.lora = scenario.training.lora;
  numerics.frozen = scenario.training.frozen;
  numerics.data = scenario.parallel.data;
  numerics.context = scenario.parallel.context;
  numerics.context_in_ring =
      numerics.context > 1 && scenario.parallel.context_kind == description::ContextKind::ring;
  const std::uint64_t replicas = scenario.parallel.replicas();
  numerics.tensor = scenario.parallel.tensor;
  numerics.sequence_parallel = numerics.tensor > 1 && scenario.parallel.sequence_parallel;
  numerics.expert = scenario.parallel.expert;
  numerics.experts_on_cpu = strategy.weights.experts_on_cpu();
  numerics.micro_batches = scenario.training.gradient_accumulation;
  numerics.sum = kernel_type(numerics.precision);
  // ZeRO-1 sums in kernels and reduces once, whoever updates
  const bool by_layer = strategy.micro_batches == description::MicroBatchOrder::by_layer;
  const bool sums_first = by_layer || sums_before_landing(scenario);
  const bool narrow = by_layer || strategy.gradients.accumulation != Width::fp32 ||
                      lands_in_states(scenario) ||
                      (offloads && (strategy.gradients.policy == GradientPolicy::host_fp16 ||
                                    strategy.gradients.policy == GradientPolicy::ssd_fp16));
  if (numerics.micro_batches > 1) {
    if (!narrow) numerics.sum = ElementType::fp32;
    numerics.reduces_each = (replicas > 1 || has_parts(scenario)) && !sums_first &&
                            (offloads || scenario.parallel.zero_stage >= 2);
  }
  numerics.products_widen = products_widen(scenario);
  const bool may_sum = numerics.micro_batches > 1 && (!offloads || sums_first) &&
                       (strategy.gradients.fused_accumulation || sums_first) &&
                       numerics.sum == kernel_type(numerics.precision);
  const bool keeps_all = by_layer || scenario.parallel.zero_stage < 2;
  numerics.sums_in_kernels = may_sum && (keeps_all || replicas == 1);
  numerics.experts_sum_in_kernels =
      may_sum && numerics.expert > 1 && (keeps_all || scenario.parallel.expert_data() == 1);
  numerics.skips = strategy.overflow_check != description::OverflowCheck::none;
  numerics.largest_norm = scenario.training.gradient_clipping;
  numerics.by_layer =
      by_layer && numerics.micro_batches > 1 && several_layers_share_weights(scenario);
  if (scenario.parallel.pipeline > 1 && several_layers_share_weights(scenario))
    numerics.stages = scenario.parallel.pipeline;
  numerics.staleness = strategy.optimizer.staleness;
  numerics.selected_share = strategy.optimizer.selected_share;
  numerics.waits = strategy.optimizer.wait;
  numerics.recomputes = numerics.staleness == description::any_staleness && runs_again(strategy);
  return numerics;
}

}  // namespace

Numerics numerics_of(const description::Scenario& scenario) {
  if (!plans_steps(scenario.strategy.system)) return streaming_numerics(scenario);
  description::Scenario alone = scenario;
  alone.parallel.zero_stage = 0;
  alone.strategy.gradients.accumulation = Width::fp16;
  alone.strategy.gradients.fused_accumulation = true;
  return streaming_numerics(alone);
}

std::vector<std::string> notes_on_numbers(const description::Scenario& scenario) {
  std::vector<std::string> notes;
  if (scenario.training.optimizer_state == description::StateWidth::bf16)
    notes.emplace_back(
        "training.optimizer_state bf16: after each step a run here rounds weights and moments to "
        "the nearest number of 16 bits, ties to even, as DeepSpeed's CPU Adam and PyTorch do: what "
        "is less than half a unit of a weight's last digit is lost. Code that rounds "
        "stochastically, such as torchao with bf16_stochastic_round, trains to other numbers; time "
        "and bytes are the same");
  if (scenario.training.clips() && scenario.strategy.optimizer.roll_back)
    notes.emplace_back(
        "training.gradient_clipping: simulated steps are never taken back. A run for real takes "
        "back each one whose norm is too long and updates it once more, which at the beginning of "
        "a training most are");
  return notes;
}

void require_old_values(const description::Scenario& scenario) {
  if (scenario.strategy.optimizer.roll_back &&
      scenario.strategy.overflow_check == description::OverflowCheck::chained)
    description::refuse("strategy.overflow_check",
                        "with chained optimizer.roll_back has no old values, and what is computed "
                        "for them after an overflow is not what was there",
                        "use fused");
}

description::Scenario reference_of(const description::Scenario& scenario) {
  const Numerics wanted = numerics_of(scenario);
  if (!wanted.waits)
    description::refuse("strategy.optimizer.wait",
                        "with false what is written depends on who was faster: no run repeats",
                        "use true");
  require_old_values(scenario);
  description::Scenario reference = scenario;
  reference.training.optimizer_in_backward = false;
  reference.strategy = defaults_of("resident");
  if (wanted.experts_on_cpu) reference.strategy.weights.experts = description::ExpertPlace::cpu;
  reference.strategy.gradients.memory = description::GradientMemory::at_start;  // one check of all
  reference.strategy.gradients.accumulation =
      wanted.sum == ElementType::fp32 ? Width::fp32 : Width::fp16;
  reference.strategy.gradients.fused_accumulation =
      wanted.sums_in_kernels || wanted.experts_sum_in_kernels || wanted.products_widen;
  if (wanted.products_widen) {
    reference.strategy.gradients.accumulation = Width::fp32;
    reference.strategy.gradients.main_gradients = true;
  }
  reference.strategy.overflow_check =
      wanted.skips ? description::OverflowCheck::fused : description::OverflowCheck::none;
  reference.strategy.optimizer.staleness = wanted.staleness;
  reference.strategy.optimizer.selected_share = wanted.selected_share;
  if (wanted.staleness == description::any_staleness) reference.strategy.optimizer.replay = true;
  if (wanted.by_layer) reference.strategy.micro_batches = description::MicroBatchOrder::by_layer;
  if (wanted.recomputes)
    reference.strategy.activations.policy = description::ActivationPolicy::checkpoint_gpu;
  reference.strategy.gpu_capacity = description::GpuCapacity::unlimited;
  if (wanted.reduces_each)
    reference.parallel.zero_stage = std::max<std::uint64_t>(2, scenario.parallel.zero_stage);
  if (wanted.sums_in_kernels && !wanted.reduces_each) reference.parallel.zero_stage = 0;
  reference.parallel.pipeline = wanted.stages;
  ENSURE(numerics_of(reference) == wanted,
         "resident cannot train with the numerics of " + scenario.strategy.system);
  return reference;
}

}  // namespace spillway::strategies
