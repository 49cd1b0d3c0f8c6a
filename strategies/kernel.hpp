#pragma once

#include "models/step_program.hpp"
#include "strategies/memory/block.hpp"

#include <string_view>

namespace spillway::strategies {

struct BoundOperand {
  View view;
  models::Access access = models::Access::read;
  BoundOperand(View bound, models::Access how) : view(std::move(bound)), access(how) {}
};

/// One kernel on a stream of a rank's GPU: the operator, its cost, its operands in GPU memory.
///   The simulator uses the cost, the counting machine the demand, the real machine the operator.
struct GpuKernel {
  std::string_view name;  ///< outlives the run
  /// Of the step program; null for conversions and copies.
  const models::Operator* operation = nullptr;
  double flops = 0;      ///< of matrix products
  double bytes = 0;      ///< GPU memory traffic, read + written
  bool matrix = false;   ///< bounded by the compute rate; else by memory (see ElementwiseCost)
  bool in_pass = false;  ///< in forward or backward, whose memory-bound time `compute` may include
  bool recompute = false;
  std::vector<BoundOperand> operands;
};

enum class CpuWork {
  adam,           ///< optimizer step of `elements` parameters
  convert,        ///< change of element type, or widening and adding
  check_chained,  ///< abs, isinf, any, isnan, any: one thread, 20 B per fp32 element
  check_fused,    ///< one pass over the bits, all cores
  initialize,     ///< first values of weights and states, at the rate of `convert`
};
inline constexpr std::size_t cpu_work_count = static_cast<std::size_t>(CpuWork::initialize) + 1;

/// Work on a node's cores: bounded by its rate in the machine file and by DRAM, shared with
/// everything else there.
struct CpuKernel {
  CpuWork work = CpuWork::adam;
  std::uint64_t elements = 0;
  std::uint64_t traffic = 0;  ///< bytes of DRAM traffic, read + written
  std::vector<BoundOperand> operands;
};

/// Near-storage processing: `read` and `written` bytes inside the device, Adam of `elements` there.
struct StorageKernel {
  std::uint64_t elements = 0;
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};

/// What a group computes together; sums run in rank order on every machine.
///   all_gather       in: own shard [n/G]; out: all shards [n]
///   reduce_scatter   in: [n]; out: own shard of the sum [n/G]
///   all_reduce       in: [n]; out: [n], may be the same view
///   broadcast        rank 0 of the group gives `in`, the others receive `out`
enum class Collective { all_gather, reduce_scatter, all_reduce, broadcast };
std::string_view to_string(Collective collective);

}  // namespace spillway::strategies
