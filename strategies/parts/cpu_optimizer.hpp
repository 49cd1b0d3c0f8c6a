#pragma once

#include "strategies/parts/weights.hpp"

namespace spillway::strategies {

/// One rank's Adam on the CPU, sub-group by sub-group.
///   optimizer.home ssd    fp32 master, momentum, variance (and gradient, when gradients.policy is
///   ssd_fp32) are one
///       extent each per sub-group. Read into swap buffers, update, 16-bit weights out through the
///       swap-out buffer, states out. `pipeline_read` reads the next sub-group and `pipeline_write`
///       writes the last one while this one is updated; without them the three are a sum. A
///       sub-group below 1 MiB of fp32 stays in host memory
///   optimizer.home host   states in pageable memory, updated in place; no transfers but new
///   weights to the GPU Source  DeepSpeed stage3.py, partitioned_optimizer_swapper.py; MemAscend,
///   steps 12-15
class CpuOptimizer {
 public:
  CpuOptimizer(Machine& machine, Rank rank, const Job& job, Weights& weights);

  Task<> init();
  /// All sub-groups, in the order of `optimizer.order`.
  ///   flat   view of a weight's share in the flat gradient buffer, for gradients that are in host
  ///   memory
  Task<> update(const std::function<View(std::uint32_t)>& flat);

  /// Where a weight's fp32 gradient waits for the update.
  struct GradientHome {
    const Stored* extent = nullptr;  ///< on storage, at `range`; null: in host memory
    Range range;
    View memory;  ///< optimizer gradient buffer; empty: the flat buffer itself
  };
  GradientHome gradient_home(std::uint32_t weight) const;
  /// A staging buffer on the way to a gradient extent: one of the swap buffers.
  Task<Buffer> staging() { return swap_->take(); }
  /// `written`: a gradient of `weight` on its way to its extent.
  void gradient_written(std::uint32_t weight, Op written);

 private:
  struct State {
    Stored master, momentum, variance, gradient;  ///< home ssd
    Buffer host_gradient;                         ///< home host
    std::uint64_t host_offset = 0;                ///< elements, in the host state buffers
    std::vector<Op> gradient_writes;
    bool swapped = false;
  };
  struct Loaded {
    std::uint32_t group = 0;
    Buffer master, momentum, variance, gradient;
  };

  Task<> init_host_states();
  Task<> init_extents();
  StorageId state_storage() const;
  Task<Loaded> load(std::uint32_t group);
  Task<> save(Loaded loaded);
  Op adam(Loaded& loaded, const std::function<View(std::uint32_t)>& flat, const Buffer& out);
  Task<> publish(std::uint32_t group, Op updated, Buffer out);
  std::uint64_t out_bytes(const Subgroup::Member& member) const;
  std::uint64_t out_bytes(const Subgroup& group) const;
  bool gradient_on_storage(std::uint32_t weight) const;
  std::vector<std::uint32_t> order();

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Weights& weights_;
  const description::OptimizerPart& part_;
  std::vector<State> states_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> member_of_;  ///< weight -> sub-group, member
  Buffer master_, momentum_variance_;
  std::unique_ptr<BufferPool> swap_, swap_out_;
  std::uint64_t step_ = 0;
};

}  // namespace spillway::strategies
