#include "strategies/schedules/step_passes.hpp"
#include "strategies/schedules/stories.hpp"

namespace spillway::strategies {

Task<> active_gradients(Machine& machine, Rank rank, const Job& job) {
  StreamingRank parts(machine, rank, job);
  StepPasses passes(parts);
  hold_update_process(parts.held, job);
  co_await parts.init();
  hold_initialisation_blocks(parts.held, job);

  bool more = co_await job.steps->next();
  while (more) {
    for (passes.begin_step(); passes.next();) {
      // the last micro-batch's backward completes gradients: each sub-group is updated when it has
      // all of its own, while the layers below still run
      if (passes.is_backward())
        parts.updater->before_backward(passes.numbers(), passes.completes_gradients());
      co_await passes.run();
    }

    co_await parts.gpu_gradients();
    // what backward was too short for; a step that counts for nothing is taken back
    const bool overflow = co_await parts.overflows();
    co_await parts.end_update(overflow, passes.numbers());
    more = co_await parts.next_step(overflow);
  }

  co_await parts.close();
}

}  // namespace spillway::strategies
