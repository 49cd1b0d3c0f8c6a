#include "strategies/layout/prepared.hpp"

#include "models/architecture/adapters.hpp"
#include "strategies/layout/stage_layers.hpp"
#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

namespace {

/// From their inputs, for what was not kept; the others bring back what was saved.
bool runs_blocks_again(description::ActivationPolicy policy) {
  using description::ActivationPolicy;
  return policy != ActivationPolicy::keep && policy != ActivationPolicy::offload &&
         policy != ActivationPolicy::tensor_cache;
}

models::Workload workload_of(const description::Scenario& scenario,
                             const models::Architecture& architecture) {
  const description::Training& training = scenario.training;
  models::Workload workload;
  workload.precision = training.precision;
  workload.optimizer = training.optimizer;
  workload.states = training.optimizer_state;
  workload.micro_batch = training.micro_batch;
  workload.sequence = training.sequence;
  workload.tensor = scenario.parallel.tensor;
  workload.expert = scenario.parallel.expert;
  workload.expert_load = training.expert_load;
  workload.experts_on_cpu = scenario.strategy.weights.experts_on_cpu();
  workload.attention = training.attention;
  workload.fused_kernels = training.fused_kernels;
  workload.keeps_inputs = runs_blocks_again(scenario.strategy.activations.policy);
  workload.mlp_tiles = training.mlp_tiles;
  workload.loss = training.loss;
  workload.dropout = training.dropout.value.value_or(architecture.own_dropout);
  workload.attention_dropout = training.dropout.value.value_or(architecture.own_attention_dropout);
  workload.recomputed = training.recompute.operators;
  workload.document = training.packed.document;
  workload.context = scenario.parallel.context;
  workload.context_in_ring = scenario.parallel.context_kind == description::ContextKind::ring;
  workload.splits_backward = scenario.parallel.splits_backward();
  workload.sequence_parallel = scenario.parallel.sequence_parallel;
  workload.causal_skip = training.causal_skip;
  workload.adapters = training.lora.adapters;
  workload.base = training.lora.base;
  workload.adapter_scale = training.lora.scale();
  workload.fp8 = training.fp8;
  return workload;
}

}  // namespace

Prepared prepare(const description::Scenario& scenario) {
  if (scenario.run.io_bench) return {};
  const models::Architecture architecture = models::architecture_of(scenario);
  Prepared prepared{
      models::as_trained(models::build_model(architecture), scenario.training), {}, {}};
  prepared.program =
      models::build_step_program(prepared.model, workload_of(scenario, architecture));
  if (scenario.parallel.pipeline > 1 && !plans_steps(scenario.strategy.system))
    prepared.stages = cut_into_stages(prepared.model, prepared.program,
                                      stage_layers(prepared.model, prepared.program, scenario),
                                      scenario.parallel.pipeline);
  return prepared;
}

}  // namespace spillway::strategies
