#include "strategies/layout/chunk_knobs.hpp"

#include "models/program/formats.hpp"

namespace spillway::strategies {

ChunkKnobs chunk_knobs(const description::Strategy& strategy) {
  const description::WeightsPart& weights = strategy.weights;
  ChunkKnobs knobs;
  knobs.used = weights.chunk.has_value();
  if (weights.chunk && weights.chunk->value) knobs.elements = weights.chunk->value->value();
  if (weights.chunk_cache && weights.chunk_cache->value)
    knobs.cache = weights.chunk_cache->value->value();
  return knobs;
}

bool reuses_chunks(const description::Scenario& scenario) {
  return chunk_knobs(scenario.strategy).used &&
         models::formats_of(scenario.training).has_master() &&
         scenario.training.gradient_accumulation == 1 &&
         scenario.strategy.optimizer.staleness == 0 &&
         scenario.strategy.gradients.policy == description::GradientPolicy::host_fp16;
}

}  // namespace spillway::strategies
