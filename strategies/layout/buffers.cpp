#include "strategies/layout/buffers.hpp"

#include <algorithm>

namespace spillway::strategies {

EqualBuffers equal_buffers(const Job& job) {
  const description::WeightsPart& part = job.scenario.strategy.weights;
  return {part.buffer_count.value_or(description::buffers_of_blocks(part.prefetch_blocks)),
          part.buffer_size ? part.buffer_size->value()
                           : job.largest_share(job.partition.weight_ways())};
}

bool is_swapped(const Job& job, const Subgroup& group) {
  return job.scenario.strategy.optimizer.home == description::Home::ssd &&
         4 * group.elements >= Job::smallest_swapped;
}

SwapBuffers swap_buffers(const Job& job, std::uint64_t paths) {
  const description::OptimizerPart& part = job.scenario.strategy.optimizer;
  const std::uint64_t set = description::buffers_of_a_set(job.scenario.strategy.gradients.policy);
  SwapBuffers buffers;
  std::uint64_t swapped = 0;
  for (const Subgroup& group : job.subgroups) {
    buffers.bytes = std::max(buffers.bytes, job.state_width() * group.span);
    swapped += is_swapped(job, group);
  }
  // being read, being updated, being written; see decide/automatic.hpp for what replaces `auto`
  buffers.each = part.buffers.value_or(3 * set);
  buffers.most_kept = paths * (buffers.each / set);
  if (part.host_cache)
    buffers.most_kept =
        std::min(buffers.most_kept,
                 part.host_cache->value() / std::max<std::uint64_t>(1, 3 * buffers.bytes));
  if (part.order != description::SubgroupOrder::alternating && buffers.most_kept < swapped)
    buffers.most_kept = 0;
  return buffers;
}

}  // namespace spillway::strategies
