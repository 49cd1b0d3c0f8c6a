#include "strategies/schedules/step_passes.hpp"
#include "strategies/schedules/stories.hpp"

namespace spillway::strategies {

Task<> layer_by_layer(Machine& machine, Rank rank, const Job& job) {
  StreamingRank parts(machine, rank, job);
  StepPasses passes(parts);
  co_await parts.init();
  hold_shared_update(parts.held, job);
  hold_initialisation_blocks(parts.held, job);

  bool more = co_await job.steps->next();
  while (more) {
    // forward and backward of each micro-batch; weights come a layer ahead, gradients leave behind
    for (passes.begin_step(); passes.next();) {
      if (passes.is_backward())
        parts.updater->before_backward(passes.numbers(), passes.completes_gradients());
      co_await passes.run();
    }
    co_await parts.sum_tied();

    // all ranks skip the update where one of them found an overflow
    const bool overflow = co_await parts.overflows();
    machine.enter(rank, result::Phase::update);
    co_await parts.updater->publish();
    if (!overflow) {
      parts.weights.step_ends();
      co_await parts.updater->update(co_await parts.clipped(passes.numbers()));
    }
    more = co_await parts.next_step(overflow);
  }

  co_await parts.updater->publish();
  co_await parts.close();
}

}  // namespace spillway::strategies
