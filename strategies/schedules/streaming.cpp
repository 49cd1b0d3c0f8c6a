#include "strategies/schedules/streaming.hpp"

#include "strategies/schedules/stories.hpp"

namespace spillway::strategies {

Task<> train_streaming(Machine& machine, Rank rank, const Job& job) {
  const description::Strategy& strategy = job.scenario.strategy;
  const bool on_gpu = strategy.optimizer.device == description::OptimizerDevice::gpu;
  if (strategy.optimizer.staleness == description::any_staleness)
    return loose_updates(machine, rank, job);
  if (strategy.micro_batches == description::MicroBatchOrder::by_layer)
    return micro_batches_by_layer(machine, rank, job);
  if (on_gpu ? job.scenario.training.optimizer_in_backward
             : updates_in_backward(strategy.gradients.policy))
    return active_gradients(machine, rank, job);
  return layer_by_layer(machine, rank, job);
}

}  // namespace spillway::strategies
