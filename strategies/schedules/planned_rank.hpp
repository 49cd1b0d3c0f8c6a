#pragma once

#include "strategies/decide/migration_plans.hpp"
#include "strategies/layout/held_memory.hpp"
#include "strategies/layout/progress.hpp"
#include "strategies/schedules/step_kernels.hpp"

namespace spillway::strategies {

/// One rank, or pipeline stage, of a system whose planner decides per tensor: its plan, its
/// tensors, each in a GPU buffer of its own or away, and its kernels.
class PlannedRank {
 public:
  PlannedRank(Machine& machine, Rank rank, const Job& job);

  /// Makes all that lives as long as the run, where the plan has it when a step begins.
  ///   Throws  OutOfMemory, also for what the plan found no room for where tiers do not grow
  Task<> init();

  const PlannedStep& step() const { return own_.step; }
  /// Tensors of one step alone that kernel `slot` uses first.
  const std::vector<std::uint32_t>& born_at(std::size_t slot) const { return births_[slot]; }
  /// Gives up those that kernel `slot` uses last.
  void free_behind(std::size_t slot) {
    for (const std::uint32_t tensor : deaths_[slot]) tensors_.free(tensor);
  }
  Migrations& tensors() { return tensors_; }
  Progress& progress() { return progress_; }

  /// The kernel, whose operands are on the GPU, or its exchange with other stages. Returns when it
  /// has ended.
  Task<> run(const StepKernel& kernel);
  /// Every master to host memory, or every weight where it is its own.
  Task<> checkpoint();

 private:
  void take_plan();
  Task<> make_tensors();

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Progress progress_;
  const RankPlan& own_;
  HeldMemory held_;
  Migrations tensors_;
  StepKernels kernels_;
  std::vector<std::vector<std::uint32_t>> births_, deaths_;  ///< tensors, by kernel
};

}  // namespace spillway::strategies
