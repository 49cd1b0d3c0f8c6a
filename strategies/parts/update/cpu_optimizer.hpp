#pragma once

#include "strategies/machine/cpu_kernels.hpp"
#include "strategies/parts/update/gradient_norm.hpp"
#include "strategies/parts/update/near_storage.hpp"
#include "strategies/parts/update/old_values.hpp"

namespace spillway::strategies {

/// One rank's Adam on the CPU, sub-group by sub-group, in the order of `optimizer.order`.
///   Reads     with pipeline_read one sub-group ahead on each path, as far as buffers reach;
///             without it when the sub-group before is done
///   Updates   a 16-bit gradient is first widened (2 B read, 4 B written a parameter)
///   Publishes new 16-bit weights: through the swap-out buffer to their extents, or to the GPU;
///             with weights.home gpu they leave from where their gradient was
///   Late      staleness not 0: an update runs beside the next step, whose kernels still read the
///             old weights; the new ones take the place of their gradients until somebody publishes
///             them
///   Inside    device near_storage: the storages update what lies on them, the CPU the rest
///   Writes    with pipeline_write behind the next update; the last sub-groups may stay
///             (host_cache)
///   Source    DeepSpeed stage3.py, partitioned_optimizer_swapper.py; MemAscend, steps 12-15;
///             MLP-Offload, section 3.4
class CpuOptimizer {
 public:
  /// `norm`: to which gradients leave their part on their way; null: no norm is clipped.
  CpuOptimizer(Machine& machine, Rank rank, const Job& job, Weights& weights,
               const GradientNorm* norm);

  Task<> init();
  /// All sub-groups, once.
  ///   flat   view of a weight's share in the flat gradient buffer, for gradients that are in host
  ///          memory; `sectors`: the same in whole sectors
  using Flat = std::function<View(std::uint32_t)>;
  Task<> update(Flat flat, Flat sectors, const StepNumbers& numbers);
  /// Waits for the sub-groups that an update left for later (`optimizer.delayed_share`).
  Task<> finish_delayed();
  /// staleness 1: the new weights of the last update to where kernels read them.
  Task<> publish_late();
  /// New weights take the place of their gradients, which have whole sectors there.
  bool in_place() const { return in_place_; }

  // ---- An update that somebody else orders (see ActiveUpdate)

  /// `sectors`: where a weight's new values go, in whole sectors; they take their gradients' place.
  /// Both are asked until the update's last operation is issued, and not after.
  void begin_update(Flat gradient, Flat sectors, const StepNumbers& numbers);
  /// Of a sub-group whose gradients are there when `after` is done, as narrow as they came. Without
  /// `optimizer.wait` it holds nothing, and only costs time.
  Op start_adam(const StateStore::Loaded& loaded, const After& after);
  /// New weights and states to where they live; returns when they are there.
  Task<> write_back(StateStore::Loaded loaded, Op updated);
  /// Old values of what updates write, until it is known whether the step counts; null where that
  /// is known before, or nobody keeps them.
  OldValues* old_values() { return old_values_.get(); }
  /// Looks for overflows among the sub-group's gradients, when `after` is done; Op::found says.
  std::vector<Op> look_for_overflow(std::uint32_t group, const After& after);
  /// Of an update beside backward: all gradients are still there behind it, and are multiplied.
  ///   Source  DeepSpeed superoffload_stage3.py, _step_without_clipping
  bool unscales_behind() const { return part_.unscale && part_.roll_back; }
  Task<> unscale_all();
  /// What the update that was begun last calculates with.
  const StepNumbers& numbers() const { return numbers_; }
  /// The update is to be made again, with other numbers.
  void begin_again(const StepNumbers& numbers) { numbers_ = numbers; }
  /// What all ranks do together, after the last sub-group.
  Task<> finish_update();

  /// Reads every master as an update would, and writes nothing; the last of a run.
  Task<> checkpoint();

  StateStore& states() { return states_; }
  const GradientNorm* norm() const { return norm_; }
  /// This rank's share of a weight that lives in host memory.
  View weight_share(std::uint32_t weight) const { return weights_.share(weight); }

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
  Task<> update_groups(std::size_t from, std::size_t to);
  Task<> update_delayed(std::size_t from);
  Task<> update_group(StateStore::Loaded loaded, bool keep);
  Task<> update_inside(const std::vector<std::uint32_t>& order);
  Task<> update_in_host(const std::vector<std::uint32_t>& order);
  Task<Buffer> bring_back(std::uint32_t group, Op updated);
  Task<> hand_on(std::uint32_t group, Buffer out);
  std::uint64_t swap_out_buffers() const;
  Op widen(const Subgroup& group);
  Op unscale(const Subgroup& group, const Buffer& loaded, const Op& after);
  std::optional<Converted> own_gradient(const Subgroup::Member& member) const;
  void add_member(CpuKernel& kernel, const Subgroup::Member& member, std::uint32_t index) const;
  Op adam(const StateStore::Loaded& loaded, const Buffer& out, const After& after);
  Task<> renew(StateStore::Loaded loaded, bool keep, Op updated, Buffer out);
  Task<> publish(StateStore::Loaded loaded, bool keep, Op updated, Buffer out);
  Task<> send_typed(StateStore::Loaded loaded, Op updated);
  std::vector<Op> send_to_gpu(const Subgroup::Member& member, const View& from, const Op& updated);
  Op gather(std::uint32_t weight, const Op& own_share_is_there);
  /// Of the member as kernels read it.
  std::uint64_t weight_bytes(const Subgroup::Member& member) const;
  std::uint64_t out_bytes(const Subgroup::Member& member) const;
  std::uint64_t out_bytes(const Subgroup& group) const;
  bool widens(const View& gradient, const Subgroup::Member& member) const;
  ElementType gradient_type(const View& gradient, const Subgroup::Member& member) const;
  View wide_gradient(const Subgroup::Member& member) const;
  std::uint64_t update_traffic(const Subgroup& group) const;
  std::uint64_t elements_of_adam(const Subgroup& group) const;

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Weights& weights_;
  const description::OptimizerPart& part_;
  const GradientNorm* norm_;
  bool weights_on_gpu_;
  bool late_;      ///< new weights wait for somebody who publishes them
  bool active_;    ///< sub-groups are updated one by one during backward
  bool widens_;    ///< 16-bit gradients first; else Adam reads them as they are
  bool in_place_;  ///< new weights take the place of their gradients
  bool typed_;     ///< new weights are made of the masters, on their way up
  StateStore states_;
  std::unique_ptr<OldValues> old_values_;
  std::unique_ptr<NearStorage> inside_;  ///< null: the CPU updates all
  std::unique_ptr<BufferPool> swap_out_;
  // during an update
  Flat flat_;
  Flat fresh_;  ///< where new weights that take their gradients' place lie
  StepNumbers numbers_;
  Pass pass_;
  std::uint64_t to_come_ = 0, hits_ = 0;  ///< swapped sub-groups of it
  Pending<> delayed_;
  Buffer widened_;  ///< fp32 gradients of one sub-group
  std::vector<Pending<>> writing_;
  std::vector<std::pair<std::uint32_t, Op>> gathers_;  ///< weight, own share is there: to come
  std::uint64_t step_ = 0;
};

}  // namespace spillway::strategies
