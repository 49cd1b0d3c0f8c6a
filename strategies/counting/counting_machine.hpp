#pragma once

#include "scenarios/description/scenario.hpp"
#include "strategies/machine/machine.hpp"

#include <array>
#include <deque>
#include <vector>

namespace spillway::strategies {

/// What one rank asks of its GPU and links in one phase.
struct RankDemand {
  double flops = 0;            ///< of matrix products, recomputation included
  double recompute_flops = 0;  ///< of the above
  double pass_bytes = 0;       ///< GPU memory traffic of memory-bound kernels inside passes
  double other_bytes = 0;      ///< the same, of all other memory-bound kernels but updates
  double update_bytes = 0;     ///< the same, of optimizer steps
  double updated = 0;          ///< parameters that these update
  std::uint64_t kernels = 0;   ///< of the compute stream, as all above
  double side_bytes = 0;       ///< GPU memory traffic of the side stream
  std::uint64_t side_kernels = 0;
  std::uint64_t h2d = 0, d2h = 0;                    ///< pinned copies, bytes
  std::uint64_t pageable_h2d = 0, pageable_d2h = 0;  ///< bytes
  std::uint64_t gpu_copies = 0;                      ///< inside GPU memory, bytes
  std::uint64_t collectives = 0, sent = 0;           ///< bytes: of the whole; of the view
  std::uint64_t to_peers = 0, to_nodes = 0;          ///< bytes sent in collectives
  std::uint64_t handed_to_nodes = 0;                 ///< of `sent`, bytes to other nodes

  /// All of the above.
  static constexpr std::array<double RankDemand::*, 7> amounts();
  static constexpr std::array<std::uint64_t RankDemand::*, 12> counts();
};

constexpr std::array<double RankDemand::*, 7> RankDemand::amounts() {
  return {&RankDemand::flops,       &RankDemand::recompute_flops, &RankDemand::pass_bytes,
          &RankDemand::other_bytes, &RankDemand::update_bytes,    &RankDemand::updated,
          &RankDemand::side_bytes};
}
constexpr std::array<std::uint64_t RankDemand::*, 12> RankDemand::counts() {
  return {&RankDemand::kernels,    &RankDemand::side_kernels, &RankDemand::h2d,
          &RankDemand::d2h,        &RankDemand::pageable_h2d, &RankDemand::pageable_d2h,
          &RankDemand::gpu_copies, &RankDemand::collectives,  &RankDemand::sent,
          &RankDemand::to_peers,   &RankDemand::to_nodes,     &RankDemand::handed_to_nodes};
}

/// What all ranks of a node ask of one storage in one phase.
struct StorageDemand {
  std::uint64_t reads = 0, writes = 0;                ///< operations
  std::uint64_t read = 0, written = 0;                ///< bytes through the host or to the GPU
  std::uint64_t inside_read = 0, inside_written = 0;  ///< bytes of near-storage kernels
  std::uint64_t elements = 0;                         ///< of near-storage Adam

  /// All of the above.
  static constexpr std::array<std::uint64_t StorageDemand::*, 7> counts();
};

constexpr std::array<std::uint64_t StorageDemand::*, 7> StorageDemand::counts() {
  return {&StorageDemand::reads,   &StorageDemand::writes,      &StorageDemand::read,
          &StorageDemand::written, &StorageDemand::inside_read, &StorageDemand::inside_written,
          &StorageDemand::elements};
}

/// What one phase asks of every resource of a node; an operation counts in the phase that issued
/// it.
struct PhaseDemand {
  std::vector<RankDemand> ranks;
  std::vector<StorageDemand> storages;                       ///< as Topology::storages
  std::array<std::uint64_t, cpu_work_count> cpu_elements{};  ///< by CpuWork
  std::array<std::uint64_t, cpu_work_count> cpu_traffic{};   ///< bytes of DRAM, by CpuWork
  std::uint64_t host_copies = 0;                             ///< bytes inside host memory
};

/// One step's demand: with rates it gives lower bounds of the step's time.
struct Demand {
  std::array<PhaseDemand, result::phase_count> phases;
  std::uint64_t operations = 0;

  /// Of so many ranks that do the same as the only one that was counted.
  Demand of_alike(std::uint64_t count) const;
  /// Adds what came from `earlier` to `later`, `times` over: all three of one step.
  void add(const Demand& earlier, const Demand& later, std::uint64_t times);

  PhaseDemand& of(result::Phase phase) { return phases[static_cast<std::size_t>(phase)]; }
  const PhaseDemand& of(result::Phase phase) const {
    return phases[static_cast<std::size_t>(phase)];
  }
};

/// A machine without time: operations finish in the order in which they begin, each after every
/// coroutine that can run has run. Memory, order and conflicts are those of the other machines; it
/// counts what they would work off.
class CountingMachine final : public Machine {
 public:
  explicit CountingMachine(const description::Scenario& scenario);
  explicit CountingMachine(MachineSetup setup);

  /// Demand of each step that has begun, of the ranks that run: step i ends at the i-th
  /// step_ended(). What ran before the first is in step 0.
  const std::vector<Demand>& demands() const { return demands_; }
  /// Micro-batches that were taken for equal are not: demands() lacks those that were left out.
  bool micro_batches_differ() const { return differ_; }

 private:
  void start(Operation& operation) override;
  void start(CollectiveRound& round) override;
  void loop() override;
  void cancel_all() override { running_.clear(); }
  double now_s() const override { return 0; }
  void note_micro_batch() override { marks_.push_back(running_step()); }
  bool leave_out(std::uint64_t micro_batches) override;
  Demand& running_step();
  void count(const Operation& operation, PhaseDemand& demand);

  std::deque<Operation*> running_;
  std::vector<Demand> demands_;
  std::vector<Demand> marks_;  ///< of the running step, where a micro-batch has ended
  bool differ_ = false;
};

}  // namespace spillway::strategies
