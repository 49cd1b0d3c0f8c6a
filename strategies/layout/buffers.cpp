#include "strategies/layout/buffers.hpp"

#include <algorithm>

namespace spillway::strategies {

EqualBuffers equal_buffers(const Job& job) {
  const description::WeightsPart& part = job.scenario.strategy.weights;
  const auto elements = [&](const TensorRow& row) {
    return part.buffer_size ? part.buffer_size->value() : row.share(row.shards.weight_ways());
  };
  return {part.buffer_count.value_or(description::buffers_of_blocks(part.prefetch_blocks)),
          job.tensors.largest(elements), job.tensors.largest([&](const TensorRow& row) {
            return row.weight.bytes(elements(row));
          })};
}

std::uint64_t buffers_of_a_set(const description::Scenario& scenario) {
  const std::uint64_t of_adam = description::buffers_of_a_set(scenario.strategy.gradients.policy);
  return of_adam - (description::is_adam(scenario.training.optimizer) ? 0 : 1);
}

bool is_swapped(const Job& job, const Subgroup& group) {
  return job.row(group).state_home == description::Home::ssd;
}

std::uint64_t largest_state_bytes(const Job& job, const Subgroup& group) {
  const TensorRow& row = job.row(group);
  std::uint64_t largest = row.master().bytes(group.span);
  for (const StateFormat& state : row.states)
    largest = std::max(largest, state.format.bytes(group.span));
  if (job.scenario.strategy.gradients.policy == description::GradientPolicy::ssd_fp32)
    largest = std::max(largest, fp32_numbers.bytes(group.span));
  return largest;
}

std::uint64_t most_useful_buffers(const description::Scenario& scenario,
                                  std::uint64_t subgroups_of_a_rank, std::uint64_t paths) {
  const description::OptimizerPart& optimizer = scenario.strategy.optimizer;
  const std::uint64_t sets = optimizer.pipeline_read || optimizer.pipeline_write ? 2 : 1;
  return buffers_of_a_set(scenario) *
         std::max<std::uint64_t>(
             1, description::divide_up(std::max(sets, subgroups_of_a_rank), paths));
}

SwapBuffers swap_buffers(const Job& job, std::uint64_t paths) {
  const description::OptimizerPart& part = job.scenario.strategy.optimizer;
  const std::uint64_t set = buffers_of_a_set(job.scenario);
  SwapBuffers buffers;
  if (!description::is_adam(job.scenario.training.optimizer)) buffers.states = 2;
  std::uint64_t swapped = 0;
  for (const Subgroup& group : job.subgroups) {
    buffers.bytes = std::max(buffers.bytes, largest_state_bytes(job, group));
    swapped += is_swapped(job, group);
  }
  // being read, being updated, being written; see decide/automatic.hpp for what replaces `auto`
  buffers.each =
      part.buffers.value_or(std::min(3 * set, most_useful_buffers(job.scenario, swapped, paths)));
  buffers.most_kept = paths * (buffers.each / set);
  if (part.host_cache)
    buffers.most_kept =
        std::min(buffers.most_kept, part.host_cache->value() /
                                        std::max<std::uint64_t>(1, buffers.states * buffers.bytes));
  if (part.order != description::SubgroupOrder::alternating && buffers.most_kept < swapped)
    buffers.most_kept = 0;
  return buffers;
}

}  // namespace spillway::strategies
