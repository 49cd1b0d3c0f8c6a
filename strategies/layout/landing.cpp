#include "strategies/layout/landing.hpp"

#include "models/program/formats.hpp"

namespace spillway::strategies {

using description::Home;
using description::Landing;

bool lands_in_states(const description::Scenario& scenario) {
  const description::Strategy& strategy = scenario.strategy;
  if (strategy.gradients.lands) return *strategy.gradients.lands == Landing::states;
  const std::uint64_t stage = scenario.parallel.zero_stage;
  return (stage == 1 || stage == 2) && strategy.weights.home == Home::gpu &&
         strategy.gradients.policy == description::GradientPolicy::host_fp32 &&
         strategy.optimizer.device == description::OptimizerDevice::cpu &&
         strategy.optimizer.home == Home::host && strategy.optimizer.cpu_share == 1 &&
         (strategy.optimizer.staleness == 0 || strategy.optimizer.selected_share > 0) &&
         (models::formats_of(scenario.training).has_master() ||
          strategy.optimizer.master == description::MasterKept::copy);
}

bool updates_in_shared_memory(const description::Scenario& scenario) {
  const description::OptimizerPart& optimizer = scenario.strategy.optimizer;
  const bool spread = optimizer.selected_share > 0 && scenario.parallel.zero_stage == 3 &&
                      optimizer.device == description::OptimizerDevice::cpu;
  return optimizer.staleness == 1 && (lands_in_states(scenario) || spread);
}

bool sums_before_landing(const description::Scenario& scenario) {
  return scenario.parallel.zero_stage == 1 && gradients_of_a_step(scenario) > 1 &&
         lands_in_states(scenario);
}

bool scatters_gradients(const description::Scenario& scenario) {
  const auto& collective = scenario.strategy.gradients.collective;
  return collective ? *collective == description::GradientCollective::reduce_scatter
                    : scenario.parallel.zero_stage >= 2;
}

std::size_t rewrites_of_gradients(const description::Scenario& scenario) {
  if (scenario.strategy.gradients.reduce_bucket.value() == 0) return 0;
  if (scenario.parallel.replicas() == 1) return scenario.parallel.zero_stage >= 2 ? 3 : 2;
  return scatters_gradients(scenario) ? 3 : 2;
}

namespace {
/// Ranks keep all of each gradient until the step's update, and no plan says where it is meanwhile.
bool gradients_wait_whole(const description::Scenario& scenario) {
  return scenario.parallel.zero_stage < 2 &&
         !description::moves_by_plan(scenario.strategy.activations.policy) &&
         !scenario.training.optimizer_in_backward;
}
}  // namespace

bool products_widen(const description::Scenario& scenario) {
  const description::Strategy& strategy = scenario.strategy;
  const description::GradientsPart& part = strategy.gradients;
  return part.policy == description::GradientPolicy::resident && part.fused_accumulation &&
         part.accumulation == description::Width::fp32 &&
         (part.main_gradients || gradients_of_a_step(scenario) > 1) &&
         description::kernel_type(scenario.training.precision) != description::ElementType::fp32 &&
         strategy.optimizer.staleness == 0 && !strategy.optimizer.replay &&
         gradients_wait_whole(scenario);
}

bool products_widen(const description::Scenario& scenario, const models::WeightTensor& weight) {
  return (weight.multiplies_in_block() || weight.kind == models::WeightKind::lm_head) &&
         products_widen(scenario);
}

bool sums_at_end(const description::Scenario& scenario) {
  const description::GradientsPart& part = scenario.strategy.gradients;
  if (part.sums) return *part.sums == description::GradientSums::at_end;
  return part.main_gradients && gradients_wait_whole(scenario);
}

std::uint64_t gradients_of_a_step(const description::Scenario& scenario) {
  return scenario.strategy.micro_batches == description::MicroBatchOrder::by_layer
             ? 1
             : scenario.training.gradient_accumulation;
}

bool gradients_are_pageable(const description::Scenario& scenario) {
  const description::GradientsPart& part = scenario.strategy.gradients;
  return part.d2h == description::CopyMemory::pageable &&
         part.pinned == description::PinnedPolicy::exact;
}

}  // namespace spillway::strategies
