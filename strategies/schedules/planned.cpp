#include "strategies/schedules/planned.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/decide/migration_plans.hpp"
#include "strategies/layout/held_memory.hpp"
#include "strategies/layout/planned_settings.hpp"
#include "strategies/layout/progress.hpp"
#include "strategies/schedules/migrations.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spillway::strategies {

namespace {

using models::Access;
using result::Phase;
using Holds = StepTensor::Holds;

/// What all ranks' plans come to, for the result.
void report(const planner::Plan& plan, const planner::Lifetimes& lifetimes, std::uint64_t memory,
            nlohmann::json& all) {
  if (all.is_null()) all = nlohmann::json::object();
  const auto active = planner::active_bytes(lifetimes);
  double sum = 0, length = 0, most = 0;
  for (std::size_t i = 0; i < active.size(); ++i) {
    const double share =
        static_cast<double>(active[i]) / static_cast<double>(std::max<std::uint64_t>(1, memory));
    sum += share * lifetimes.kernels[i].duration_s;
    length += lifetimes.kernels[i].duration_s;
    most = std::max(most, share);
  }
  const auto add = [&](const char* name, std::uint64_t value) {
    all[name] = all.value(name, std::uint64_t{0}) + value;
  };
  const auto largest = [&](const char* name, double value) {
    all[name] = std::max(all.value(name, 0.0), value);
  };
  add("intervals", plan.intervals);
  add("moved", plan.moves.size());
  add("urgent_moves", plan.urgent_moves());
  add("bytes_to_ssd", plan.bytes_to(planner::Destination::ssd, lifetimes));
  add("bytes_to_host", plan.bytes_to(planner::Destination::host, lifetimes));
  if (memory) {
    largest("active_fraction_mean", length > 0 ? sum / length : 0);
    largest("active_fraction_max", most);
  }
  largest("ideal_s", plan.ideal_s);
  largest("step_s", plan.step_s);
  largest("stall_s", std::max(0.0, plan.step_s - plan.ideal_s));
}

/// One stage: its plan, its tensors, its kernels.
class PlannedRank {
 public:
  PlannedRank(Machine& machine, Rank rank, const Job& job)
      : machine_(machine),
        rank_(rank),
        job_(job),
        progress_(job),
        own_(job.ranks->at(std::min<std::size_t>(rank.index, job.ranks->size() - 1))),
        step_(own_.step),
        held_(machine, rank) {}

  Task<> init() {
    held_.hold_bases(job_.scenario.machine);
    take_plan();
    co_await migrations_->init();
    co_await make_tensors();
  }

  Task<> step() {
    std::optional<Phase> phase;
    for (std::size_t slot = 0; slot < step_.kernels.size(); ++slot, ++position_) {
      const StepKernel& kernel = step_.kernels[slot];
      // stages interleave passes differently: they enter each phase once, so that a node can
      const bool enters = job_.scenario.parallel.pipeline > 1 ? !phase || kernel.phase > *phase
                                                              : phase != kernel.phase;
      if (enters) {
        phase = kernel.phase;
        machine_.enter(rank_, kernel.phase);
      }
      migrations_->begin(position_);
      co_await migrations_->allocate(births_[slot]);
      co_await migrations_->arrivals(position_);
      if (kernel.handovers.empty()) {
        const std::vector<GpuKernel> bound{bind(kernel)};
        co_await machine_.run(rank_, bound);
      } else {
        co_await exchange(kernel);
      }
      for (const std::uint32_t tensor : deaths_[slot]) migrations_->free(tensor);
    }
    progress_.step_ended(false);
  }

  Task<> finish(bool checkpoint) {
    co_await migrations_->stop();
    if (!checkpoint) co_return;
    for (std::uint32_t i = 0; i < step_.tensors.size(); ++i) {
      const StepTensor& tensor = step_.tensors[i];
      if (tensor.holds != Holds::master && tensor.holds != Holds::weight) continue;
      const TensorRow& row = job_.row(tensor.weight);
      if (row.has_own_master() != (tensor.holds == Holds::master)) continue;
      const Buffer landing = co_await migrations_->fetch(i);
      CpuKernel kernel;
      kernel.work = CpuWork::checkpoint;
      kernel.elements = job_.elements(tensor.weight);
      kernel.traffic = tensor.bytes;
      kernel.operands.emplace_back(landing.view(0, tensor.bytes), Access::read, Role::master,
                                   row.master().type, tensor.weight);
      const Op saved = machine_.run(rank_, std::move(kernel));
      co_await saved;
    }
  }

 private:
  /// Takes the plan that was made for this rank, and what it could not have of its tiers.
  ///   Throws  OutOfMemory where tiers do not grow
  void take_plan() {
    const auto& scenario = job_.scenario;
    for (const Growth& growth : own_.growths)
      machine_.require(growth.tier, rank_, growth.capacity, growth.request);
    ENSURE(!own_.plan.shortage, "a plan for tiers that do not grow on a machine whose tiers do");
    const planner::Lifetimes lifetimes = step_.lifetimes();
    report(own_.plan, lifetimes, scenario.machine.gpu.memory.value(), job_.shared->plan);
    const PlanKnobs knobs = plan_knobs(scenario.strategy);
    migrations_ = std::make_unique<Migrations>(machine_, rank_, step_, own_.plan, own_.capacity,
                                               knobs.chunk, bounces(scenario));
    births_.resize(step_.kernels.size());
    deaths_.resize(step_.kernels.size());
    for (std::uint32_t i = 0; i < lifetimes.tensors.size(); ++i) {
      const planner::LifetimeTensor& tensor = lifetimes.tensors[i];
      if (tensor.persistent) continue;
      births_[tensor.active.front().first].push_back(i);
      deaths_[tensor.active.back().last].push_back(i);
    }
  }

  /// What the plan has away when a step begins is made there, one by one, before what stays.
  Task<> make_tensors() {
    for (const bool away : {true, false})
      for (std::uint32_t i = 0; i < step_.tensors.size(); ++i) {
        if (!step_.tensors[i].persistent || migrations_->begins_away(i) != away) continue;
        const std::vector<std::uint32_t> one{i};
        co_await migrations_->allocate(one);
        GpuKernel kernel;
        kernel.name = "initialize";
        kernel.work = GpuWork::initialize;
        kernel.bytes = static_cast<double>(step_.tensors[i].bytes);
        kernel.operands.push_back(state_operand(i, Access::write));
        const std::vector<GpuKernel> first{std::move(kernel)};
        co_await machine_.run(rank_, first);
        co_await migrations_->place(i);
      }
  }

  View view(std::uint32_t tensor) const {
    return migrations_->gpu(tensor).view(0, step_.tensors[tensor].bytes);
  }

  ElementType type_of(const StepTensor& tensor) const {
    switch (tensor.holds) {
      case Holds::weight:
        return job_.row(tensor.weight).weight.type;
      case Holds::gradient:
      case Holds::arrival:
        return job_.row(tensor.weight).gradient_format().type;
      case Holds::master:
        return state_type(tensor.weight, StateKind::master);
      case Holds::momentum:
        return state_type(tensor.weight, StateKind::momentum);
      case Holds::variance:
        return state_type(tensor.weight, StateKind::variance);
      default:
        return job_.activation_type();
    }
  }

  ElementType state_type(std::uint32_t weight, StateKind kind) const {
    const NumberFormat* const format = job_.row(weight).state(kind);
    ENSURE(format, "a state that the weight does not have");
    return format->type;
  }

  /// A weight or one of its own, as updates and first values take it.
  BoundOperand state_operand(std::uint32_t index, Access access) const {
    const StepTensor& tensor = step_.tensors[index];
    const auto bound = [&](Role role) {
      return BoundOperand(view(index), access, role, type_of(tensor), tensor.weight);
    };
    switch (tensor.holds) {
      case Holds::weight:
        return bound(Role::weight);
      case Holds::gradient:
        return bound(Role::gradient);
      case Holds::master:
        return bound(Role::master);
      case Holds::momentum:
        return bound(Role::momentum);
      case Holds::variance:
        return bound(Role::variance);
      default:
        throw description::InternalError("an update of what is no weight's");
    }
  }

  BoundOperand operand(const StepKernel& kernel, const StepOperand& planned) const {
    const StepTensor& tensor = step_.tensors[planned.tensor];
    if (kernel.updated > 0) return state_operand(planned.tensor, planned.access);
    if (tensor.holds == Holds::workspace)
      return {view(planned.tensor), planned.access, Role::workspace, job_.activation_type(), 0};
    BoundOperand bound(view(planned.tensor), planned.access, Role::tensor, type_of(tensor),
                       tensor.tensor);
    bound.fresh = planned.fresh;
    return bound;
  }

  GpuKernel bind(const StepKernel& planned) const {
    GpuKernel kernel;
    kernel.name = planned.name;
    kernel.numbers = progress_.numbers(planned.micro);
    if (planned.sums) {
      kernel.work = GpuWork::sum;
      for (const StepOperand& one : planned.operands) {
        kernel.operands.emplace_back(view(one.tensor), one.access,
                                     one.access == Access::write ? Role::output : Role::input,
                                     type_of(step_.tensors[one.tensor]), 0);
        kernel.bytes += static_cast<double>(step_.tensors[one.tensor].bytes);
      }
      return kernel;
    }
    const models::Operator& op = *planned.operation;
    kernel.operation = &op;
    kernel.flops = op.flops.value();
    kernel.bytes = static_cast<double>(op.bytes.value());
    kernel.matrix = op.flops.value() > 0;
    kernel.in_pass = planned.updated == 0;
    kernel.updated = planned.updated;
    for (const StepOperand& one : planned.operands)
      kernel.operands.push_back(operand(planned, one));
    return kernel;
  }

  Task<> exchange(const StepKernel& kernel) {
    Handovers& board = job_.shared->handovers;
    for (const Handover& one : kernel.handovers)
      if (!one.sends) board.offer(one.key, view(one.tensor));
    std::vector<std::pair<std::uint64_t, Op>> sent;
    for (const Handover& one : kernel.handovers) {
      if (!one.sends) continue;
      const View into = co_await board.place(one.key);
      sent.emplace_back(one.key, machine_.send(rank_, Rank{one.peer}, view(one.tensor), into));
    }
    for (const auto& [key, op] : sent) {
      co_await op;
      board.sent(key);
    }
    for (const Handover& one : kernel.handovers)
      if (!one.sends) co_await board.arrival(one.key);
  }

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Progress progress_;
  const RankPlan& own_;
  const PlannedStep& step_;
  std::unique_ptr<Migrations> migrations_;
  std::vector<std::vector<std::uint32_t>> births_, deaths_;  ///< tensors, by kernel
  std::uint64_t position_ = 0;                               ///< kernels since the first step began
  HeldMemory held_;
};

}  // namespace

Task<> train_planned(Machine& machine, Rank rank, const Job& job) {
  PlannedRank stage(machine, rank, job);
  co_await stage.init();
  while (co_await job.steps->next()) co_await stage.step();
  co_await stage.finish(job.scenario.run.checkpoint);
}

}  // namespace spillway::strategies
