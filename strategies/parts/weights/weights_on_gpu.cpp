#include "strategies/parts/weights/weights_on_gpu.hpp"

#include "strategies/machine/gpu_kernels.hpp"

namespace spillway::strategies {

using description::Home;

WeightsOnGpu::WeightsOnGpu(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout)
    : machine_(machine),
      rank_(rank),
      job_(job),
      layout_(layout),
      gather_(machine, rank, job),
      offset_(layout.size()) {}

Task<> WeightsOnGpu::init() {
  std::uint64_t bytes = 0;
  for (std::uint32_t weight = 0; weight < layout_.size(); ++weight) {
    if (!layout_.lives(weight, Home::gpu)) continue;
    offset_[weight] = bytes;
    bytes += layout_.share_bytes[weight] *
             (layout_.whole[weight] ? job_.row(weight).shards.weight_ways() : 1);
  }
  if (!bytes) co_return;
  flat_ = machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), Purpose::weights);
  std::vector<GpuKernel> kernels;
  for (std::uint32_t weight = 0; weight < layout_.size(); ++weight) {
    if (!layout_.lives(weight, Home::gpu) || !job_.holds(weight)) continue;
    const bool all = layout_.whole[weight];
    BoundOperand values(all ? whole(weight) : share(weight), models::Access::write, Role::weight,
                        job_.row(weight).weight.type, weight);
    kernels.push_back(
        first_values_on_gpu({std::move(values)}, all ? 0 : first_element(job_, rank_, weight)));
  }
  co_await machine_.run(rank_, kernels);
}

View WeightsOnGpu::share(std::uint32_t weight) const {
  const std::uint64_t bytes = layout_.share_bytes[weight];
  const bool all = layout_.whole[weight] && job_.row(weight).shards.weight_ways() > 1;
  return flat_.view(offset_[weight] + (all ? job_.member(rank_, weight) * bytes : 0), bytes);
}

View WeightsOnGpu::whole(std::uint32_t weight) const {
  return flat_.view(offset_[weight],
                    layout_.share_bytes[weight] * job_.row(weight).shards.weight_ways());
}

View WeightsOnGpu::updated_share(std::uint32_t weight) const {
  const TensorRow& row = job_.row(weight);
  const std::uint64_t ways = row.shards.state_ways();
  if (ways == 1 || row.shards.weight_ways() > 1) return share(weight);
  const std::uint64_t each = row.weight.bytes(row.share(ways));
  return whole(weight).part(job_.member(rank_, weight) * each, each);
}

std::uint64_t WeightsOnGpu::gpu_bytes(const LayerWeight& slot) const {
  return fetches(slot) ? gather_.gpu_bytes(slot) : 0;
}

Task<FetchedWeight> WeightsOnGpu::fetch(const LayerWeight& slot, Buffer into) {
  if (!fetches(slot)) co_return FetchedWeight{whole(slot.weight), values(slot.weight), Op()};
  const WeightGather::GatherTarget target = gather_.target(slot, into);
  const View own = share(slot.weight).part(0, slot.share_bytes);
  const Op there = values(slot.weight);
  co_return FetchedWeight{target.whole, gather_.gather(target, own, there), Op()};
}

}  // namespace spillway::strategies
