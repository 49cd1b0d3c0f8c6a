#include "strategies/schedules/passes_by_layer.hpp"
#include "strategies/schedules/stories.hpp"

namespace spillway::strategies {

Task<> micro_batches_by_layer(Machine& machine, Rank rank, const Job& job) {
  StreamingRank parts(machine, rank, job);
  PassesByLayer passes(parts);
  co_await parts.init();
  hold_initialisation_blocks(parts.held, job);

  bool more = co_await job.steps->next();
  while (more) {
    machine.enter(rank, result::Phase::forward);
    co_await passes.forward();
    // what the last update left for this forward has been updated; its gradients give way
    co_await parts.updater->publish();

    machine.enter(rank, result::Phase::backward);
    parts.updater->before_backward(passes.numbers(), true);
    co_await passes.backward();
    co_await parts.gpu_gradients();
    co_await parts.sum_tied();

    const bool overflow = co_await parts.overflows();
    co_await parts.end_update(overflow, passes.numbers());
    more = co_await parts.next_step(overflow);
  }

  co_await parts.updater->publish();
  co_await parts.close();
}

}  // namespace spillway::strategies
