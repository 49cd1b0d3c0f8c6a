#pragma once

#include "strategies/layout/job.hpp"

#include <map>

namespace spillway::strategies {

/// The routed experts of a rank's layers in host memory, where the CPU multiplies by them, and
/// pinned memory through which what it reads and makes comes and goes.
///   Holds   a node's experts once: each of its ranks is charged an equal part; for each rank
///           what the CPU needs again on its way back, of each layer and micro-batch under way, or
///           of one layer at a time where layers run again; what it works on
///   Source  KTransformers (SOSP 2025): experts on the CPU, all else on the GPU. Its overlap of
///           shared experts with routed ones is not here: the GPU waits
class CpuExperts {
 public:
  /// `records`: micro-batches under way at once.
  CpuExperts(Machine& machine, Rank rank, const Job& job, std::size_t records);

  /// Whether some layer of `job` has work for the CPU.
  static bool any(const Job& job);
  /// Takes the memory; the experts have their first values.  Throws  OutOfMemory
  Task<> init();
  /// `operation` on the CPU: what it reads comes to host memory, what it writes goes back.
  ///   of, views  its operands and where they lie on the GPU
  ///   Result     after it all that it writes is on the GPU
  Op compute(const models::Operator& operation, const std::vector<PlannedOperand>& of,
             const std::vector<View>& views, const StepNumbers& numbers, const Op& after);

 private:
  struct Layer {
    std::uint64_t kept = 0;               ///< bytes that its forward leaves for its backward
    std::uint64_t offset = 0;             ///< of them, in those of a micro-batch
    bool again = false;                   ///< they are made again in backward
    std::vector<BoundOperand> weights{};  ///< its experts; where several ranks share them: none
  };
  void plan_layers();
  Task<> place_weights();
  View kept_of(const Layer& layer, std::uint64_t micro_batch) const;

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  std::size_t records_;
  std::map<std::uint32_t, Layer> layers_;  ///< by layer of the whole model
  /// Bytes of a micro-batch's layers; of the largest layer that runs again.
  std::uint64_t kept_of_all_ = 0, kept_of_one_ = 0;
  Buffer weights_, kept_, works_, staging_;
};

}  // namespace spillway::strategies
