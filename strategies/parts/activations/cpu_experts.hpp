#pragma once

#include "strategies/layout/job.hpp"

namespace spillway::strategies {

/// The routed experts of a rank's layers in host memory, where the CPU multiplies by them, and
/// pinned memory through which what it reads and makes comes and goes.
///   Holds   a node's experts once: each of its ranks has an equal part on its books; for each rank
///           what the CPU needs again on its way back
///   Source  KTransformers (SOSP 2025): experts on the CPU, all else on the GPU. Its overlap of
///           shared experts with routed ones is not here: the GPU waits
class CpuExperts {
 public:
  /// `records`: micro-batches under way at once.
  CpuExperts(Machine& machine, Rank rank, const Job& job, std::size_t records);

  /// Whether some layer of `job` has work for the CPU.
  static bool any(const Job& job);
  /// Takes the memory.  Throws  OutOfMemory
  void init();
  /// `operation` on the CPU: what it reads comes to host memory, what it writes goes back.
  ///   of, views  its operands and where they lie on the GPU
  ///   Result     after it all that it writes is on the GPU
  Op compute(const models::Operator& operation, const std::vector<PlannedOperand>& of,
             const std::vector<View>& views, const Op& after);

 private:
  Machine& machine_;
  Rank rank_;
  const Job& job_;
  std::size_t records_;
  Buffer weights_, kept_, staging_;
};

}  // namespace spillway::strategies
