#pragma once

#include "scenarios/description/scenario.hpp"
#include "sim/engine.hpp"
#include "sim/page_cache.hpp"
#include "sim/platform.hpp"
#include "strategies/machine/machine.hpp"

#include <vector>

namespace spillway::sim {

/// A transfer that starts once the operation's latency is over.
struct PlannedTransfer {
  Path path;
  double bytes = 0;
  double bound_bytes_per_s = 0;           ///< 0: none
  const StorageAccess* access = nullptr;  ///< of the storage that it reads or writes
  Path slow{};                            ///< of a write: past a full SLC cache
  double slow_bound_bytes_per_s = 0;
};

/// An operation and what SimGrid does for it.
struct SimOperation : strategies::Operation {
  std::vector<PlannedTransfer> planned;
  std::vector<simgrid::s4u::ActivityPtr> transfers;
  std::size_t transfers_left = 0;
  std::vector<PlannedTransfer> later;  ///< follow once those in flight have ended
  std::vector<SlcCache*> caches;       ///< it keeps them from emptying, its latency included
  std::vector<int*> counted;           ///< its transfers are among these
  bool team = false;                   ///< it is a kernel of its rank's team, and counted
  double stretch = 1;                  ///< of its duration, by run.jitter
  std::size_t slot = 0;                ///< where it stands among those in flight
  double behind_s = 0;  ///< what kernels of its GPU's other stream have taken from its own
  double owes = 0;      ///< it ends when its node's page cache has written so much back
  bool flush = false;   ///< of a page cache; nobody waits for it
};

/// Virtual time: SimGrid shares links, cores and drives; latencies and GPU kernels are timers of
/// our own.
///   Ties   what ends at one instant is finished in start order; the same input gives the same
///          bytes out
///   One    lives in a process at a time
///   Fold   of equals, one is simulated (ranks_are_alike, micro_batches_may_repeat). A rank has its
///          part of what all share; the ledger counts all of them. Where that would not be what all
///          of them do, the run ends and says so (Machine::unlike)
class SimMachine final : public strategies::Machine, private Listener {
 public:
  SimMachine(const description::Scenario& scenario, bool trace,
             strategies::Fold fold = strategies::Fold::nothing);
  ~SimMachine() override;

 private:
  std::unique_ptr<strategies::Operation> make_operation() const override;
  void start(strategies::Operation& operation) override;
  void start(strategies::CollectiveRound& round) override;
  void loop() override;
  void cancel_all() override;
  double now_s() const override { return now_s_; }

  double before_jump(double now_s) noexcept override;
  void completed(void* tag) noexcept override;

  void withdraw(strategies::Block& block) override;

  /// Its place in the scenario's machine.storage, which each simulated node has.
  std::uint32_t entry_of(strategies::StorageId storage) const {
    return storage.index % static_cast<std::uint32_t>(scenario_.machine.storage.size());
  }
  const description::StorageSpec& spec_of(strategies::StorageId storage) const {
    return scenario_.machine.storage[entry_of(storage)];
  }
  void fill_caches();
  void start_storage(SimOperation& operation);
  double plan_piece(SimOperation& operation, const strategies::StoragePiece& piece);
  // of a buffered engine: page_cache_use.cpp
  void start_buffered(SimOperation& operation);
  double room_for_pages(strategies::Rank rank) const;
  void write_back(std::uint32_t node);
  void written_back(SimOperation& flush);
  bool must_wait(SimOperation& operation);
  void start_copy(SimOperation& operation);
  void copy_on_gpu(SimOperation& operation);
  void start_cpu(SimOperation& operation);
  void start_near_storage(SimOperation& operation);
  void start_kernels(SimOperation& operation);
  void hold_thread(SimOperation& operation, double seconds, double traffic);
  double launched(SimOperation& operation, double seconds);
  double peer_rate() const;
  void stretch_kernels(SimOperation& operation) const;

  double stretch_of(const SimOperation& operation) const;
  void put_on(SimOperation& operation);
  void set_timer(SimOperation& operation, double seconds);
  void add_timer(SimOperation& operation, double seconds);
  void transfer_after(SimOperation& operation, double seconds);
  void start_transfers(SimOperation& operation);
  void take_from_cache(SimOperation& operation);
  void transfer(SimOperation& operation);
  void fire_timers();
  void settle(SimOperation& operation);
  void take_off(SimOperation& operation);

  struct Gpu {
    SimOperation* computes = nullptr;  ///< in flight on its compute stream
    double side_until_s = 0;           ///< when the side stream's last kernels are done
  };
  void share_gpu(SimOperation& operation, double seconds);
  bool goes_on(SimOperation& operation);

  struct Timer {
    double at_s;
    std::uint64_t number;
    SimOperation* operation;
    bool operator<(const Timer& other) const {
      return at_s != other.at_s ? at_s > other.at_s : number > other.number;
    }
  };

  description::Scenario scenario_;
  EngineLease engine_;
  Platform platform_;
  double now_s_ = 0;
  std::size_t steps_seen_ = 0;      ///< over when caches were filled last
  std::vector<Timer> timers_;       ///< a heap, the earliest in front
  std::vector<double> launched_s_;  ///< by rank: when its thread has launched all so far
  std::vector<Gpu> gpus_;           ///< by rank
  std::vector<PageCache> pages_;    ///< by node; none unless the engine is buffered
  /// By node and by place of a storage in machine.storage.
  std::vector<std::vector<std::unique_ptr<SimOperation>>> flushes_;
  std::vector<SimOperation*> held_up_;                ///< by what they owe
  std::uint64_t flushed_ = 0;                         ///< flushes begun
  std::vector<SimOperation*> ended_;                  ///< at this instant, not yet finished
  std::vector<SimOperation*> in_flight_;              ///< all that are started and not finished
  std::vector<simgrid::s4u::ActivityPtr> cancelled_;  ///< SimGrid still knows them
  std::exception_ptr failure_;
};

}  // namespace spillway::sim
