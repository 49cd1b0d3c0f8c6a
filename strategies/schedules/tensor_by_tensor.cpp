#include "strategies/schedules/planned_rank.hpp"
#include "strategies/schedules/step_phases.hpp"
#include "strategies/schedules/stories.hpp"

namespace spillway::strategies {

Task<> tensor_by_tensor(Machine& machine, Rank rank, const Job& job) {
  PlannedRank parts(machine, rank, job);
  Migrations& tensors = parts.tensors();
  const std::vector<StepKernel>& kernels = parts.step().kernels;
  StepPhases phases(machine, rank, job.scenario.parallel.pipeline);
  co_await parts.init();

  std::uint64_t position = 0;  // kernels since the first step began
  bool more = co_await job.steps->next();
  while (more) {
    phases.begin_step();
    for (std::size_t slot = 0; slot < kernels.size(); ++slot, ++position) {
      phases.enter(kernels[slot].phase);
      // what the plan has leave by now is sent out, what it has come back by now is sent for;
      // both go on beside the kernels
      tensors.begin(position);
      // the kernel waits for room for the tensors that it is the first to use, which goes to it
      // before it goes to any that come back, and for its operands that are still on their way
      co_await tensors.allocate(parts.born_at(slot));
      co_await tensors.arrivals(position);
      co_await parts.run(kernels[slot]);
      parts.free_behind(slot);
    }
    parts.progress().step_ended(false);
    more = co_await job.steps->next();
  }

  co_await tensors.stop();
  if (job.scenario.run.checkpoint) co_await parts.checkpoint();
}

}  // namespace spillway::strategies
