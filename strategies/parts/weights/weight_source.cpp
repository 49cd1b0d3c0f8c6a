#include "strategies/parts/weights/weight_source.hpp"

namespace spillway::strategies {

WeightGather::WeightGather(Machine& machine, Rank rank, const Job& job)
    : machine_(machine), rank_(rank), job_(job) {}

WeightGather::GatherTarget WeightGather::target(const LayerWeight& slot,
                                                const Buffer& memory) const {
  const bool shared = job_.row(slot.weight).shards.weight_ways() > 1;
  const std::uint64_t first = shared ? job_.member(rank_, slot.weight) * slot.share_bytes : 0;
  return {memory.view(), memory.view(first, slot.share_bytes), shared,
          job_.gather_group(rank_, slot.weight)};
}

Op WeightGather::gather(const GatherTarget& target, const View& own, Op own_is_there) {
  if (!target.shared) return own_is_there;
  return machine_.collective(rank_, target.group, Collective::all_gather, own, target.whole,
                             own_is_there);
}

}  // namespace spillway::strategies
