#include "strategies/parts/update/update_loop.hpp"
#include "strategies/schedules/step_passes.hpp"
#include "strategies/schedules/stories.hpp"

namespace spillway::strategies {

namespace {

/// The passes of all steps; `after_backward` is called behind each backward.
template <class AfterBackward>
Task<> steps_without_updates(StreamingRank& parts, StepPasses& passes,
                             AfterBackward after_backward) {
  bool more = co_await parts.job.steps->next();
  while (more) {
    for (passes.begin_step(); passes.next();) {
      co_await passes.run();
      if (passes.is_backward()) after_backward();
    }
    co_await parts.sum_tied();
    parts.progress.step_ended(false);
    parts.saved->step_ended();
    more = co_await parts.job.steps->next();
  }
}

}  // namespace

Task<> loose_updates(Machine& machine, Rank rank, const Job& job) {
  StreamingRank parts(machine, rank, job);
  StepPasses passes(parts);
  ENSURE(parts.sources.renewed && parts.sinks.loose, "weights that no loose update can renew");
  UpdateLoop updates(machine, rank, job, *parts.sources.renewed, *parts.on_cpu, *parts.sinks.loose);
  co_await parts.init();
  co_await updates.init();
  hold_initialisation_blocks(parts.held, job);

  // sub-groups in turn, as often as there is time: it begins with the first gradients, takes what
  // has come since its last turn, and renews weights between two fetches of them
  co_await steps_without_updates(parts, passes, [&] { updates.start(passes.numbers()); });

  co_await updates.stop();
  co_await parts.saved->settle();
  if (job.scenario.run.checkpoint) co_await parts.checkpoint();
}

Task<> repeated_updates(Machine& machine, Rank rank, const Job& job) {
  StreamingRank parts(machine, rank, job);
  StepPasses passes(parts);
  Replay& replay = parts.sources.replayed->replay();
  replay.set_update([&](std::uint32_t weight, std::uint64_t number, View into, const After& after) {
    Numbers numbers = passes.numbers();
    numbers.update = number;
    return parts.on_gpu->update(weight, numbers, std::move(into), after);
  });
  co_await parts.init();
  hold_initialisation_blocks(parts.held, job);

  // a sum of gradients ends where the recorded one did and is updated at once; fetches see the
  // weights that the recorded ones saw
  co_await steps_without_updates(parts, passes, [] {});

  co_await replay.show_all();
  co_await parts.saved->settle();
  if (job.scenario.run.checkpoint) co_await parts.checkpoint();
}

}  // namespace spillway::strategies
