#pragma once

#include "strategies/parts/update/state_paths.hpp"
#include "strategies/parts/weights/weights.hpp"

namespace spillway::strategies {

/// Where one rank's optimizer states live between updates, sub-group by sub-group.
///   home ssd    master, momentum, variance (and, with gradients.policy ssd_fp16 or ssd_fp32, the
///               gradient) are an extent each, read into swap buffers: `optimizer.buffers` for each
///               path, in one pool. A sub-group below 1 MiB of fp32 stays in host memory. Where
///               drives update, all of a sub-group lies on one of them: they take turns
///   home host   states in pageable memory, updated in place
///   bf16 states the master is the 16-bit weight itself: read from and written to the weight's own
///               extents, or updated where it lies in host memory. Only for weights on the GPU is
///               there a master besides
///   host_cache  sub-groups kept in their swap buffers from one update to the next, unwritten. Kept
///               are the last of an update, which pays if the next begins with them (order
///               alternating) or all fit; otherwise each would be thrown out before its turn
///   Source  DeepSpeed partitioned_optimizer_swapper.py; MemAscend, steps 12-15; MLP-Offload, 3.2
class StateStore {
 public:
  StateStore(Machine& machine, Rank rank, const Job& job, Weights& weights);

  Task<> init();

  /// A sub-group's states in swap buffers; empty where they are not on storage.
  struct Loaded {
    std::uint32_t group = 0;
    Buffer master, momentum, variance, gradient;
  };

  std::uint32_t count() const { return static_cast<std::uint32_t>(groups_.size()); }
  bool swapped(std::uint32_t group) const { return groups_[group].swapped; }
  /// Something of it must be read before it can be updated.
  bool must_read(std::uint32_t group) const;
  bool kept(std::uint32_t group) const { return groups_[group].kept.momentum ? true : false; }
  std::size_t path(std::uint32_t group) const { return groups_[group].path; }
  /// 0 where no states are on storage.
  std::size_t paths() const { return reading_.size(); }
  /// A read on this path has begun and not ended.
  bool reading(std::size_t path) const { return reading_[path] > 0; }

  /// Waits for buffers, then for the path's turn, then for the reads.
  Task<Loaded> load(std::uint32_t group);
  /// To the path whose turn it is; the old copy is given up when the new one is complete.
  Task<> save(Loaded loaded);
  /// In its buffers until the next update.
  void keep(Loaded loaded);
  /// Sub-groups that are kept at most.
  std::uint64_t most_kept() const { return most_kept_; }
  /// Sub-groups that fit into the swap buffers at once.
  std::uint64_t most_loaded() const;
  void end_step(std::uint64_t cache_hits);

  /// Of a state of a sub-group's members; the master may be the weight itself.
  const NumberFormat& format(const Subgroup& group, StateKind kind) const;
  /// What an update of `group` reads and writes of its states: views of `loaded` or of host memory.
  /// A master that is the weight itself, in host memory, is not among them.
  std::vector<BoundOperand> operands(const Loaded& loaded) const;
  /// A member's new 16-bit values, where a master of its own has them; empty: the master is fp32,
  /// or the weight itself.
  View narrow_master(const Loaded& loaded, const Subgroup::Member& member) const;

  /// Where a weight's gradient waits for the update.
  struct GradientHome {
    const Stored* extent = nullptr;  ///< on storage, at `range`; null: in host memory
    Range range;
    View memory;  ///< optimizer gradient buffer; empty: the flat buffer itself
    NumberFormat format = fp32_numbers;
  };
  GradientHome gradient_home(std::uint32_t weight) const;
  /// Of all of a sub-group, where they have memory of their own; else empty.
  View gradients(std::uint32_t group) const {
    const Buffer& all = groups_[group].host_gradient;
    return all ? all.view() : View();
  }
  /// Where a swapped sub-group's states and gradients lie; with the gradients' writes, once.
  struct OnStorage {
    const Stored *master, *momentum, *variance;
    std::vector<Op> gradient_writes;
  };
  OnStorage on_storage(std::uint32_t group);
  StorageId storage(std::uint32_t group) const { return paths_->storage(groups_[group].path); }
  /// Of its storage, where drives update: all of the sub-group lies there.
  std::optional<std::uint32_t> drive(std::uint32_t group) const { return groups_[group].drive; }
  /// A staging buffer on the way to a gradient extent: one of the swap buffers.
  Task<Buffer> staging() { return swap_->take(); }
  /// `written`: a gradient of `weight` on its way to its extent.
  void gradient_written(std::uint32_t weight, Op written);

 private:
  struct Group {
    Stored master, momentum, variance, gradient;  ///< home ssd
    std::size_t path = 0;
    std::optional<std::uint32_t> drive;
    Loaded kept;
    Buffer host_gradient;                            ///< home host
    Buffer left_behind;                              ///< the pinned memory that it was in first
    std::uint64_t host_master = 0, host_states = 0;  ///< bytes, in the host state buffers
    std::vector<Op> gradient_writes;
    bool swapped = false;
  };
  struct Transfer {
    const Stored* extent;
    Range range;
    View memory;
  };

  /// Of one state of a sub-group, members where they lie in it.
  /// 0: it has none of that kind.
  std::uint64_t bytes(const Subgroup& group, StateKind kind) const;
  bool has_variance(const Subgroup& group) const {
    return job_.row(group).state(StateKind::variance) != nullptr;
  }
  /// A member's part of its sub-group's masters.
  View master_in(const View& masters, const Subgroup::Member& member) const;
  std::uint64_t master_sectors(const Subgroup::Member& member) const;
  std::uint64_t first_element(std::uint32_t weight) const;
  Task<> first_masters(const Subgroup& group, View into, bool own_only);
  std::uint64_t own_master_bytes(const Subgroup& group) const;
  bool gradient_on_storage(std::uint32_t weight) const;
  NumberFormat stored_gradient(std::uint32_t weight) const;
  Range gradient_range(std::uint32_t weight) const;
  std::uint64_t gradient_bytes(const Subgroup& group) const;
  std::vector<Range> gradient_ranges(const Subgroup& group) const;
  void make_buffers();
  Task<> init_host_states();
  bool has_gradients(const Subgroup& group) const;
  void make_gradients(std::uint32_t group, TierId tier);
  Task<> init_extents();
  Task<> make_extents(std::uint32_t group);
  std::vector<Transfer> transfers(const Loaded& loaded) const;

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Weights& weights_;
  const description::OptimizerPart& part_;
  std::uint64_t set_;  ///< buffers of a sub-group that is being updated
  std::vector<Group> groups_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> member_of_;  ///< weight -> group, member
  Buffer master_, momentum_variance_;
  std::unique_ptr<StatePaths> paths_;
  std::vector<std::uint32_t> reading_;  ///< by path
  std::unique_ptr<BufferPool> swap_;
  std::uint64_t most_kept_ = 0;
};

}  // namespace spillway::strategies
