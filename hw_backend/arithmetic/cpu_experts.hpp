#pragma once

#include "hw_backend/arithmetic/execute.hpp"
#include "hw_backend/cpu/team.hpp"

namespace spillway::hw_backend {

/// What the CPU does of one layer's routed experts in one micro-batch: all that a GPU's kernels
/// between the copies of tokens and their sum do, in their order of operations and as they round.
struct CpuExperts {
  const Lowering* lowering = nullptr;
  const models::Operator* operation = nullptr;  ///< cpu_experts or cpu_experts_backward
  std::span<const Bound> bound;  ///< its operands and the experts' matrices, in host memory
  std::byte* kept = nullptr;     ///< Operator::cpu_keeps bytes, from forward to backward
  std::byte* works = nullptr;    ///< Operator::cpu_works bytes
  Moment moment{};
};

/// Computes on the calling thread and the team's, an expert on one of them: the number of threads
/// changes no bits.
void compute_experts(const CpuExperts& experts, Team& team);

}  // namespace spillway::hw_backend
