#include "strategies/schedules/planned_rank.hpp"

#include "strategies/layout/planned_settings.hpp"
#include "strategies/machine/cpu_kernels.hpp"
#include "strategies/parts/hand_over.hpp"

namespace spillway::strategies {

using Holds = StepTensor::Holds;

PlannedRank::PlannedRank(Machine& machine, Rank rank, const Job& job)
    : machine_(machine),
      rank_(rank),
      job_(job),
      progress_(job),
      own_(job.ranks->at(std::min<std::size_t>(rank.index, job.ranks->size() - 1))),
      held_(machine, rank),
      tensors_(machine, rank, own_.step, own_.plan,
               {own_.capacity, plan_knobs(job.scenario.strategy).chunk.value(),
                bounces(job.scenario), own_.link_is_short}),
      kernels_(job, own_.step, tensors_),
      births_(own_.step.kernels.size()),
      deaths_(own_.step.kernels.size()) {}

Task<> PlannedRank::init() {
  held_.hold_bases(job_.scenario.machine);
  take_plan();
  co_await tensors_.init();
  co_await make_tensors();
}

/// Takes the plan that was made for this rank, and what it could not have of its tiers.
///   Throws  OutOfMemory where tiers do not grow
void PlannedRank::take_plan() {
  for (const Growth& growth : own_.growths)
    machine_.require(growth.tier, rank_, growth.capacity, growth.request);
  ENSURE(!own_.plan.shortage, "a plan for tiers that do not grow on a machine whose tiers do");
  const planner::Lifetimes lifetimes = step().lifetimes();
  add_to_report(own_.plan, lifetimes, job_.scenario.machine.gpu.memory.value(), job_.shared->plan);
  for (std::uint32_t i = 0; i < lifetimes.tensors.size(); ++i) {
    const planner::LifetimeTensor& tensor = lifetimes.tensors[i];
    if (tensor.persistent) continue;
    births_[tensor.active.front().first].push_back(i);
    deaths_[tensor.active.back().last].push_back(i);
  }
}

/// What the plan has away when a step begins is made there, one by one, before what stays.
Task<> PlannedRank::make_tensors() {
  for (const bool away : {true, false})
    for (std::uint32_t i = 0; i < step().tensors.size(); ++i) {
      if (!step().tensors[i].persistent || tensors_.begins_away(i) != away) continue;
      const std::vector<std::uint32_t> one{i};
      co_await tensors_.allocate(one);
      const std::vector<GpuKernel> first{kernels_.first_values(i)};
      co_await machine_.run(rank_, first);
      co_await tensors_.place(i);
    }
}

Task<> PlannedRank::run(const StepKernel& kernel) {
  if (kernel.handovers.empty()) {
    const std::vector<GpuKernel> bound{kernels_.bind(kernel, progress_.numbers(kernel.micro))};
    co_await machine_.run(rank_, bound);
    co_return;
  }
  std::vector<Incoming> in;
  std::vector<Outgoing> out;
  for (const Handover& one : kernel.handovers) {
    const View view = kernels_.view(one.tensor);
    if (one.sends)
      out.push_back({one.key, Rank{one.peer}, view});
    else
      in.push_back({one.key, view});
  }
  co_await hand_over(machine_, rank_, job_.shared->handovers, std::move(in), std::move(out));
}

Task<> PlannedRank::checkpoint() {
  for (std::uint32_t i = 0; i < step().tensors.size(); ++i) {
    const StepTensor& tensor = step().tensors[i];
    if (tensor.holds != Holds::master && tensor.holds != Holds::weight) continue;
    const TensorRow& row = job_.row(tensor.weight);
    if (row.has_own_master() != (tensor.holds == Holds::master)) continue;
    const Buffer landing = co_await tensors_.fetch(i);
    const Op saved =
        machine_.run(rank_, checkpointed(landing.view(0, tensor.bytes), row.master().type,
                                         tensor.weight, job_.elements(tensor.weight), 0));
    co_await saved;
  }
}

}  // namespace spillway::strategies
