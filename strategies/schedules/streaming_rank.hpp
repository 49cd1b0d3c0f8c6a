#pragma once

#include "strategies/layout/held_memory.hpp"
#include "strategies/layout/progress.hpp"
#include "strategies/parts/activations/activations.hpp"
#include "strategies/parts/activations/cpu_experts.hpp"
#include "strategies/parts/make.hpp"
#include "strategies/parts/stage_links.hpp"
#include "strategies/parts/update/gpu_optimizer.hpp"

namespace spillway::strategies {

/// The parts of one rank of a streaming system, as the scenario chose them.
struct StreamingRank {
  StreamingRank(Machine& machine, Rank rank, const Job& job);

  /// Throws  OutOfMemory
  Task<> init();
  /// Where the CPU updates in backward and the GPU after it: the GPU's gradients are there.
  Task<> gpu_gradients();
  /// Gradients of weights that several pipeline stages hold.
  Task<> sum_tied();
  /// All ranks look for an overflow, where the scenario has them.
  Task<bool> overflows();
  /// What a step whose gradients are there updates with: `numbers`, or with a smaller factor for
  /// gradients whose norm is clipped.
  Task<StepNumbers> clipped(StepNumbers numbers);
  /// The update of a step of which some began in backward: what backward was too short for, or all
  /// of it taken back where an overflow was found.
  Task<> end_update(bool overflow, const StepNumbers& numbers);
  /// Ends the step.  Result  whether another step follows
  Task<bool> next_step(bool overflow);
  /// After the last step, whose update has ended.
  Task<> close();

  Machine& machine;
  Rank rank;
  const Job& job;
  MadeWeights sources;
  Weights& weights;
  ActivationMemory activation_memory;
  std::unique_ptr<SavedTensors> saved;
  Activations activations;
  StageLinks links;
  Owners owners;
  std::unique_ptr<GradientNorm> norm;         ///< null: no norm is clipped
  std::unique_ptr<CpuOptimizer> on_cpu;       ///< null: the GPU updates all
  std::unique_ptr<SelectedColumns> selected;  ///< null: the GPU updates no columns besides
  MadeGradients sinks;
  Gradients& gradients;
  std::unique_ptr<GpuOptimizer> on_gpu;  ///< null: it updates nothing
  std::unique_ptr<Updater> updater;
  std::unique_ptr<CpuExperts> cpu_experts;  ///< null: the CPU has none
  Progress progress;
  HeldMemory held;

 private:
  Buffer in_fp32();
};

/// The groups in which its passes meet other ranks, and the CPU's experts.
Meetings meetings_of(const StreamingRank& parts);

}  // namespace spillway::strategies
