#include "strategies/parts/weights/weights_in_host.hpp"

#include "strategies/machine/cpu_kernels.hpp"
#include "strategies/machine/setup.hpp"

namespace spillway::strategies {

using description::Home;

HostShares::HostShares(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout,
                       std::vector<std::uint64_t> offset, std::uint64_t bytes)
    : machine_(machine),
      rank_(rank),
      job_(job),
      layout_(layout),
      offset_(std::move(offset)),
      bytes_(bytes) {}

HostShares::HostShares(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout)
    : HostShares(machine, rank, job, layout, std::vector<std::uint64_t>(layout.size()), 0) {
  const auto& part = job.scenario.strategy.weights;
  const std::uint64_t page = part.page.value();
  for (std::uint32_t weight = 0; weight < layout.size(); ++weight) {
    if (!layout.lives(weight, Home::host)) continue;
    offset_[weight] = bytes_;
    bytes_ += layout.share_bytes[weight];
    if (part.pool == description::PoolKind::pages)
      bytes_ = description::divide_up(bytes_, page) * page;
  }
}

Task<> HostShares::init() {
  const auto& pinned = job_.scenario.strategy.weights.pinned;
  flat_ =
      machine_.allocate_now(TierId::pinned, rank_, Bytes(bytes_), Purpose::parameter_flat_buffer,
                            pinned ? std::optional(rounding_of(*pinned)) : std::nullopt);
  for (std::uint32_t weight = 0; weight < layout_.size(); ++weight) {
    if (!layout_.lives(weight, Home::host)) continue;
    const Op made =
        machine_.run(rank_, first_values(share(weight), job_.row(weight).weight.type, Role::weight,
                                         weight, first_element(job_, rank_, weight)));
    co_await made;
  }
}

WeightsInHost::WeightsInHost(Machine& machine, Rank rank, const Job& job,
                             const WeightLayout& layout)
    : machine_(machine),
      rank_(rank),
      shares_(machine, rank, job, layout),
      gather_(machine, rank, job) {}

Task<FetchedWeight> WeightsInHost::fetch(const LayerWeight& slot, Buffer into) {
  const WeightGather::GatherTarget target = gather_.target(slot, into);
  last_copy_ = machine_.copy(rank_, target.own, share(slot.weight).part(0, slot.share_bytes),
                             After(last_copy_, values(slot.weight)));
  copied(slot.weight, last_copy_);
  co_return FetchedWeight{target.whole, gather_.gather(target, target.own, last_copy_), Op()};
}

}  // namespace spillway::strategies
