#include "strategies/parts/make.hpp"

#include "strategies/parts/weight_chunks.hpp"

namespace spillway::strategies {

using description::Home;

MadeWeights make_weights(Machine& machine, Rank rank, const Job& job) {
  Weights::Sources sources;
  sources.layout = std::make_unique<const WeightLayout>(job);
  const WeightLayout& layout = *sources.layout;
  MadeWeights made;
  const description::Strategy& strategy = job.scenario.strategy;
  const bool loose = strategy.optimizer.staleness == description::any_staleness;
  if (loose && strategy.optimizer.device == description::OptimizerDevice::gpu) {
    ENSURE(job.replay, "no delays to repeat");
    auto replayed =
        std::make_unique<ReplayedWeights>(machine, rank, job, layout, job.replay->at(rank.index));
    made.replayed = replayed.get();
    sources.gpu = std::move(replayed);
  } else {
    sources.gpu = std::make_unique<WeightsOnGpu>(machine, rank, job, layout);
  }
  if (layout.any(Home::host)) {
    if (chunk_knobs(strategy).used) {
      sources.host = std::make_unique<WeightChunks>(machine, rank, job, layout);
    } else if (loose) {
      auto renewed = std::make_unique<RenewedWeights>(machine, rank, job, layout,
                                                      job.shared->delays[rank.index].seen);
      made.renewed = renewed.get();
      sources.host = std::move(renewed);
    } else {
      sources.host = std::make_unique<WeightsInHost>(machine, rank, job, layout);
    }
  }
  if (strategy.weights.home == Home::ssd)
    sources.storage = std::make_unique<WeightsOnStorage>(machine, rank, job, layout);
  made.all = std::make_unique<Weights>(machine, rank, job, std::move(sources));
  return made;
}

}  // namespace spillway::strategies
