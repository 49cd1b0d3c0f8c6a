#pragma once

#include "reports/result/result.hpp"
#include "strategies/machine/write_sizes.hpp"

#include <array>
#include <vector>

namespace spillway::strategies {

/// Micro-batches that stand for a step of more: a first one, three that show whether they are
/// equal, and a last one.
inline constexpr std::uint64_t folded_micro_batches = 5;

/// Sums of one step of one node, by phase.
struct StepRecord {
  double start_s = 0;
  double end_s = 0;
  std::uint64_t operations = 0;
  std::array<double, result::phase_count> phase_s{};
  std::array<result::PhaseBusy, result::phase_count> busy{};  ///< but SSD and CPU: mean over ranks
  std::array<result::PhaseBytes, result::phase_count> bytes{};  ///< of the phase that started them
  std::vector<result::StorageBytes> by_storage;
  std::vector<result::StorageBytes> inside;  ///< of them, moved by work inside the storages
  std::vector<WriteSizes> write_sizes;       ///< by storage
  std::vector<double> storage_busy_s;
  std::uint64_t gpu_direct = 0;
  std::uint64_t network = 0;        ///< sent by GPUs to GPUs
  std::uint64_t between_nodes = 0;  ///< of it, to other nodes
  result::Stalls stalls;            ///< mean over ranks
  double left_out_s = 0;            ///< of micro-batches that equal ones stand for

  double seconds() const { return end_s - start_s + left_out_s; }
  /// Each rank stands for so many equal ones: sums over ranks are of all of them.
  void count_alike(std::uint64_t ranks);
  /// Adds what happened from `earlier` to `later`, `times` over: all three of one step.
  void add(const StepRecord& earlier, const StepRecord& later, std::uint64_t times);
  /// The same happened from `a` to `b` as from `b` to `c`: bytes and operations, and times to
  /// rounding.
  static bool repeats(const StepRecord& a, const StepRecord& b, const StepRecord& c);
};

}  // namespace spillway::strategies
