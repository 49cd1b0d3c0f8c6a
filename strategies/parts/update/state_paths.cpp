#include "strategies/parts/update/state_paths.hpp"

#include <algorithm>

namespace spillway::strategies {

StatePaths::StatePaths(Machine& machine, Rank rank, const Job& job)
    : machine_(machine), rank_(rank), job_(job) {
  const description::OptimizerPart& part = job.scenario.strategy.optimizer;
  const auto& storages = machine.topology().storages;
  for (std::uint32_t i = 0; i < storages.size(); ++i) {
    const auto named = part.paths.find(storages[i].name);
    if (named == part.paths.end() || storages[i].node != machine.topology().node_of(rank)) continue;
    Path& path = paths_.emplace_back();
    path.storage = StorageId{i};
    path.estimated = !named->second;
    path.bandwidth = named->second.value_or(nominal_share(storages[i]));
  }
  if (!paths_.empty()) return;
  paths_.emplace_back().storage = machine.topology().home(rank);
  paths_.back().estimated = false;
  paths_.back().bandwidth = 1;
}

/// A path that is given up for another one holds the old copy until the new one is written: one
/// sub-group of each rank must find room besides.
void StatePaths::place(std::uint64_t groups, std::uint64_t bytes) {
  groups_ = groups;
  const Topology& topology = machine_.topology();
  const std::uint64_t ranks = topology.ranks_of(topology.node_of(rank_));
  for (const Path& path : paths_) {
    const std::uint64_t free = machine_.usage(path.storage).free;
    const std::uint64_t each = free / ranks / std::max<std::uint64_t>(1, bytes);
    room_.push_back(paths_.size() == 1 ? groups : each - std::min<std::uint64_t>(each, 1));
  }
  share_out();
}

void StatePaths::share_out() {
  std::vector<double> bandwidth;
  for (const Path& path : paths_) bandwidth.push_back(path.bandwidth);
  order_ = std::make_unique<PlacementOrder>(split_over_paths(groups_, bandwidth, room_));
}

std::size_t StatePaths::next() { return order_->next(); }

Task<Semaphore::Lock> StatePaths::turn(std::size_t path, bool writes) {
  const Topology& topology = machine_.topology();
  const bool alone = topology.ranks_of(topology.node_of(rank_)) == 1;
  if (alone || !job_.scenario.strategy.optimizer.tier_lock) co_return Semaphore::Lock();
  Semaphore& lanes = job_.shared->lanes[paths_[path].storage.index];
  // what is written frees memory for what is to be read
  if (writes) co_return co_await lanes.acquire_urgent();
  co_return co_await lanes.acquire();
}

void StatePaths::measured(std::size_t path, bool writes, const std::vector<Op>& transfers) {
  double bytes = 0, first = 0, last = 0;
  for (const Op& transfer : transfers) {
    const Timing& timing = transfer.timing();
    first = bytes == 0 ? timing.started_s : std::min(first, timing.started_s);
    last = std::max(last, timing.finished_s);
    bytes += static_cast<double>(timing.bytes);
  }
  if (last <= first) return;  // a machine without a clock
  Rate& rate = writes ? paths_[path].write : paths_[path].read;
  rate.sum += bytes / (last - first);
  ++rate.count;
}

void StatePaths::end_step() {
  bool changed = false;
  for (Path& path : paths_) {
    const Rate read = std::exchange(path.read, {}), write = std::exchange(path.write, {});
    const bool adapts = path.estimated && job_.scenario.strategy.optimizer.adapt;
    if (!adapts || read.count == 0 || write.count == 0) continue;
    path.bandwidth = std::min(read.sum / static_cast<double>(read.count),
                              write.sum / static_cast<double>(write.count));
    changed = true;
  }
  // the order begins anew only with other bandwidths: begun with each step, it could give one path
  // the large sub-groups always
  if (changed && paths_.size() > 1) share_out();
}

}  // namespace spillway::strategies
