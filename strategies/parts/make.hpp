#pragma once

#include "strategies/parts/activations/saved_tensors.hpp"
#include "strategies/parts/update/gpu_optimizer.hpp"
#include "strategies/parts/update/made_gradients.hpp"
#include "strategies/parts/update/selected_columns.hpp"
#include "strategies/parts/update/updater.hpp"
#include "strategies/parts/weights/renewed_weights.hpp"
#include "strategies/parts/weights/replay.hpp"
#include "strategies/parts/weights/weights.hpp"

/// Which implementation of each part a scenario stands for.
namespace spillway::strategies {

/// A rank's weights, and those of their sources that an update which no step waits for must know.
struct MadeWeights {
  std::unique_ptr<Weights> all;
  RenewedWeights* renewed = nullptr;    ///< an update renews them beside all steps
  ReplayedWeights* replayed = nullptr;  ///< what such an update did is done again
};
MadeWeights make_weights(Machine& machine, Rank rank, const Job& job);

/// What happens to a rank's saved tensors. `memory` outlives it.
std::unique_ptr<SavedTensors> make_saved_tensors(Machine& machine, Rank rank, const Job& job,
                                                 ActivationMemory& memory);

/// Who updates which of a rank's rows.
struct Owners {
  /// `job` outlives it.
  explicit Owners(const Job& job);
  Owners(const Owners&) = delete;

  const Job* gpu = nullptr;     ///< rows that the GPU updates; null: it updates none
  const Job* others = nullptr;  ///< ... that the CPU updates, or a storage

 private:
  std::optional<Job> gpu_rows_, other_rows_;  ///< of which neither has all
};

/// `optimizer`: of the rows that the GPU does not update, null where there are none. `replay` null:
/// a sum for each step. `selected` null: the GPU updates no columns besides.
MadeGradients make_gradients(Machine& machine, Rank rank, const Job& job, const Owners& owners,
                             CpuOptimizer* optimizer, Replay* replay, SelectedColumns* selected);

/// Who updates: `on_gpu`, `on_cpu` or both, whichever is there, with the gradients in `sinks`. All
/// of them outlive it.
std::unique_ptr<Updater> make_updater(Machine& machine, Rank rank, const Job& job,
                                      const MadeWeights& weights, const MadeGradients& sinks,
                                      GpuOptimizer* on_gpu, CpuOptimizer* on_cpu,
                                      SelectedColumns* selected);

}  // namespace spillway::strategies
