#pragma once

#include "strategies/layout/job.hpp"
#include "strategies/layout/placement.hpp"

namespace spillway::strategies {

/// The storages that one rank spreads its optimizer states over, which sub-group goes where, and
/// whose turn it is on them.
///   optimizer.paths       several storages, weighted by a number or (auto) by bandwidth; empty:
///                         the rank's home
///   optimizer.adapt       bandwidths of auto paths are estimated anew after each step: the slower
///                         of read and write as this rank saw it, waiting for locks not counted
///   optimizer.tier_lock   `lanes` ranks of a node at a time use a storage, for one sub-group;
///                         those who write, and free memory by it, before those who read. A rank
///                         alone waits for nobody
///   Source  MLP-Offload, sections 3.2 and 3.3
class StatePaths {
 public:
  StatePaths(Machine& machine, Rank rank, const Job& job);

  std::size_t count() const { return paths_.size(); }
  StorageId storage(std::size_t path) const { return paths_[path].storage; }
  /// Shares of `groups` sub-groups of at most `bytes` each; call it before the first `next`.
  void place(std::uint64_t groups, std::uint64_t bytes);
  /// Where the next sub-group that is written goes.
  std::size_t next();
  /// Waits for the path's lock; an empty lock without optimizer.tier_lock.
  Task<Semaphore::Lock> turn(std::size_t path, bool writes);
  /// `transfers` of one sub-group, all done, all in one direction.
  void measured(std::size_t path, bool writes, const std::vector<Op>& transfers);
  /// New shares from what was measured since the last time.
  void end_step();

  /// Bytes per second; 0 where the scenario gives weights, or there is but one path.
  double estimate(std::size_t path) const {
    return paths_[path].estimated ? paths_[path].bandwidth : 0;
  }

 private:
  struct Rate {
    double sum = 0;  ///< of the sub-groups' rates, bytes per second
    std::uint64_t count = 0;
  };
  struct Path {
    StorageId storage;
    bool estimated = true;  ///< its weight is a bandwidth
    double bandwidth = 0;   ///< or the weight that the scenario gives
    Rate read, write;
  };
  void share_out();

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  std::vector<Path> paths_;
  std::uint64_t groups_ = 0;
  std::vector<std::uint64_t> room_;
  std::unique_ptr<PlacementOrder> order_;
};

}  // namespace spillway::strategies
