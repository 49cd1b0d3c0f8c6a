#pragma once

#include "strategies/parts/update/cpu_optimizer.hpp"
#include "strategies/parts/update/gradient_sink.hpp"

#include <deque>

namespace spillway::strategies {

/// One rank's Adam on the CPU while backward goes on: a sub-group is updated as soon as the last of
/// its gradients is there.
///   active        the states of i are read once its gradients are computed, while i + 1 is in
///                 Adam; Adam of i begins after that of i + 1, when its gradients are in host
///                 memory; new weights and states of i + 1 are written during it
///   active_naive  gradients, read, Adam, write, one after the other
///   wait          false: i + 1 is written as soon as the states of i are read, the last sub-group
///                 at once, whether or not Adam has answered; nobody ever waits for it, and the
///                 next step's kernels follow it
///   roll_back     another process updates, before it is known whether the step overflows:
///                 gradients are in the flat buffer and, as fp32, in the states' until the step
///                 ends; that process copies a sub-group's into a pinned buffer of its own before
///                 each Adam.
///                 overflow_check fused: a sub-group's gradients are looked through and its old
///                 values copied before; chained: all gradients behind the last Adam, and nobody
///                 has old values. What is checked, or changes type on its way up (`weights.h2d`
///                 typed), goes to the GPU sub-group by sub-group when all are updated; old values
///                 take its place again where the step overflows, or where its norm is clipped,
///                 and it is updated once more
///   read_ahead    states of so many further sub-groups are read before their gradients come
///   Order         in which sub-groups are complete when layers arrive last first: of all ranks
///   Lands         gradients in buffers of the largest sub-group: as many as backward can have
///                 begun at once, one in Adam, one being written; new weights take their place.
///                 With gradient accumulation they are in the flat buffer
///   Source        LoHan, active gradient offloading; of `wait`, its artifact
///                 (ratel_optimizer.py, single_step); of `roll_back`, DeepSpeed from 0.18.9 on
///                 (superoffload_stage3.py, partition_grads and step; superoffload_utils.py,
///                 superoffload_optimizer_worker)
class ActiveUpdate {
 public:
  /// `sums`: gradients in host memory.
  ActiveUpdate(Machine& machine, Rank rank, const Job& job, CpuOptimizer& optimizer,
               SumFormat sums);

  Task<> init();
  /// A backward begins whose gradients are final.
  ///   gradient, sectors   where those of a weight are, exactly and in whole sectors
  void begin(CpuOptimizer::Flat gradient, CpuOptimizer::Flat sectors, const StepNumbers& numbers);
  /// Waits until there is room for the gradients of `weight`'s sub-group.
  Task<> room(std::uint32_t weight);
  /// The rank's share of a gradient: `computed`, it is complete on the GPU; `arrived`, it is here.
  void arrives(std::uint32_t weight, Op computed, Op arrived);
  /// Waits until all sub-groups are updated and all that was written is durable.
  ///   taken_back  all are what they were before instead (roll_back)
  Task<> finish(bool taken_back = false);
  /// Waits until all gradients have been looked through (roll_back).  Result  some overflow
  Task<bool> overflows();
  /// Waits for the last Adam (roll_back).
  Task<> updated();
  /// Takes all sub-groups back and updates them with other numbers (roll_back), as where the norm
  /// of the gradients, which is known when all are there, is clipped.
  ///   Source  SuperOffload (arXiv 2509.21271), speculation-then-validation
  Task<> update_again(const StepNumbers& numbers);

  /// Gradients land in buffers of sub-groups, not in the flat one.
  bool lands() const { return lands_; }
  View gradient(std::uint32_t weight) const;
  View sectors(std::uint32_t weight) const;

 private:
  struct Group {
    explicit Group(Scheduler& scheduler)
        : open(scheduler), complete(scheduler), read(scheduler), looked_through(scheduler) {}
    Buffer landing;
    Event open, complete, read, looked_through;
    std::vector<Op> checks;
    std::uint32_t missing = 0;  ///< gradients that are still to come
    std::vector<Op> computed, arrived;
    StateStore::Loaded loaded;
    Op updated;  ///< where it is published at the end
  };
  struct LandedRange {
    std::uint32_t group = 0;
    std::uint64_t offset = 0, bytes = 0;  ///< in the landing buffer
  };

  std::uint64_t plan();
  std::uint64_t lay_out();
  Task<> cleared(const Buffer& buffer);
  Task<> open_in_turn();
  Task<> computed(std::uint32_t group);
  Task<> arrived(std::uint32_t group);
  Task<> one_by_one();
  Task<> read_in_turn();
  Task<> update_in_turn();
  Task<> write_unasked(std::uint32_t group, StateStore::Loaded loaded);
  std::vector<Op> speculate(std::uint32_t group);
  Op hand_over(std::uint32_t group, const std::vector<Op>& after);
  Task<> write(std::uint32_t group, StateStore::Loaded loaded, Op updated);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  CpuOptimizer& optimizer_;
  SumFormat sums_;
  bool naive_, waits_;
  bool hands_over_;       ///< to another process (roll_back)
  bool speculates_;       ///< the update may be taken back
  bool publishes_later_;  ///< new values stay where they were made until all are
  bool taken_back_ = false;
  Buffer handed_over_;  ///< that process's copy of a sub-group's gradients
  std::deque<Group> groups_;
  std::vector<LandedRange> places_;     ///< by weight
  std::vector<std::uint32_t> opening_;  ///< sub-groups as their first gradient comes
  std::vector<std::uint32_t> order_;    ///< as their last one does
  std::vector<std::uint32_t> members_;  ///< by sub-group: gradients that come
  bool lands_ = false;
  std::unique_ptr<BufferPool> landing_;
  std::vector<Pending<>> running_;
  Op last_adam_;  ///< the next one follows it; without `wait` also that of the next step
};

}  // namespace spillway::strategies
