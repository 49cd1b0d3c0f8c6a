#include "strategies/layout/buffers.hpp"

namespace spillway::strategies {

EqualBuffers equal_buffers(const Job& job) {
  const description::WeightsPart& part = job.scenario.strategy.weights;
  return {part.buffer_count.value_or(description::buffers_of_blocks(part.prefetch_blocks)),
          part.buffer_size ? part.buffer_size->value()
                           : job.largest_share(job.partition.weight_ways())};
}

}  // namespace spillway::strategies
