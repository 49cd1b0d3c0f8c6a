#include "strategies/parts/weights/weight_source.hpp"

#include "strategies/machine/setup.hpp"

namespace spillway::strategies {

WeightGather::WeightGather(Machine& machine, Rank rank, const Job& job)
    : machine_(machine), rank_(rank), job_(job), group_(data_group(job.scenario, rank)) {}

WeightGather::Place WeightGather::place(const LayerWeight& slot, const Buffer& memory) const {
  const std::uint64_t ways = job_.partition.weight_ways();
  const std::uint64_t first = ways > 1 ? job_.member(rank_) * slot.share_bytes : 0;
  return {memory.view(), memory.view(first, slot.share_bytes)};
}

Op WeightGather::gather(const Place& place, const View& own, Op own_is_there) {
  if (job_.partition.weight_ways() == 1) return own_is_there;
  return machine_.collective(rank_, group_, Collective::all_gather, own, place.whole, own_is_there);
}

}  // namespace spillway::strategies
