#include "strategies/schedules/step_passes.hpp"
#include "strategies/schedules/stories.hpp"

namespace spillway::strategies {

Task<> loose_updates(Machine& machine, Rank rank, const Job& job) {
  StreamingRank parts(machine, rank, job);
  StepPasses passes(parts);
  co_await parts.init();
  hold_initialisation_blocks(parts.held, job);

  bool more = co_await job.steps->next();
  while (more) {
    // an update that no step waits for takes what has come since its last turn, sub-groups in turn,
    // and renews weights between two fetches of them; one that is repeated ends a sum of gradients
    // where the recorded one did, and fetches see the weights that the recorded ones saw
    for (passes.begin_step(); passes.next();) {
      if (passes.is_backward()) parts.updater->before_backward(passes.numbers(), false);
      co_await passes.run();
      if (passes.is_backward()) parts.updater->after_backward(passes.numbers());
    }
    co_await parts.sum_tied();
    more = co_await parts.next_step(false);
  }

  co_await parts.updater->stop();
  co_await parts.close();
}

}  // namespace spillway::strategies
