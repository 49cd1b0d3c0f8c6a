#pragma once

#include "strategies/parts/state_store.hpp"

namespace spillway::strategies {

/// One rank's Adam on the CPU, sub-group by sub-group, in the order of `optimizer.order`.
///   Reads     with pipeline_read one sub-group ahead on each path, as far as buffers reach;
///   without
///             it when the sub-group before is done
///   Updates   a 16-bit gradient is first widened (2 B read, 4 B written a parameter)
///   Publishes new 16-bit weights: through the swap-out buffer to their extents, or to the GPU;
///   with
///             weights.home gpu they leave from where their gradient was
///   Writes    with pipeline_write behind the next update; the last sub-groups may stay
///   (host_cache) Source    DeepSpeed stage3.py, partitioned_optimizer_swapper.py; MemAscend, steps
///   12-15;
///             MLP-Offload, section 3.4
class CpuOptimizer {
 public:
  CpuOptimizer(Machine& machine, Rank rank, const Job& job, Weights& weights);

  Task<> init();
  /// All sub-groups, once.
  ///   flat   view of a weight's share in the flat gradient buffer, for gradients that are in host
  ///          memory
  using Flat = std::function<View(std::uint32_t)>;
  Task<> update(Flat flat, const Numbers& numbers);
  /// Reads every master as an update would, and writes nothing; the last of a run.
  Task<> checkpoint();

  StateStore& states() { return states_; }

 private:
  /// An update that goes on: what is fetched already, in the order of the sub-groups.
  struct Pass {
    std::vector<std::uint32_t> order;
    std::vector<Pending<StateStore::Loaded>> fetches;  ///< parallel to order
    std::vector<bool> fetched;                         ///< or being fetched
  };

  Pass begin_pass();
  void fetch(Pass& pass, std::size_t position);
  void fetch_ahead(Pass& pass, std::size_t position);
  Task<> update_group(StateStore::Loaded loaded, bool keep);
  Op widen(const Subgroup& group);
  void add_member(CpuKernel& kernel, const Subgroup::Member& member, std::uint32_t index) const;
  Op adam(const StateStore::Loaded& loaded, const Buffer& out, const Op& widened);
  Task<> publish(StateStore::Loaded loaded, bool keep, Op updated, Buffer out);
  std::vector<Op> send_to_gpu(const Subgroup::Member& member, const View& from, const Op& updated);
  std::uint64_t out_bytes(const Subgroup::Member& member) const;
  std::uint64_t out_bytes(const Subgroup& group) const;
  bool widens(const View& gradient, const Subgroup::Member& member) const;

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Weights& weights_;
  const description::OptimizerPart& part_;
  bool weights_on_gpu_;
  StateStore states_;
  std::unique_ptr<BufferPool> swap_out_;
  // during an update
  Flat flat_;
  Numbers numbers_;
  Buffer widened_;  ///< fp32 gradients of one sub-group
  std::vector<Pending<>> writing_;
  std::uint64_t step_ = 0;
};

}  // namespace spillway::strategies
