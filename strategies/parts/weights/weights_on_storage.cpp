#include "strategies/parts/weights/weights_on_storage.hpp"

#include "strategies/machine/cpu_kernels.hpp"

namespace spillway::strategies {

using description::Home;

WeightsOnStorage::WeightsOnStorage(Machine& machine, Rank rank, const Job& job,
                                   const WeightLayout& layout)
    : machine_(machine),
      rank_(rank),
      job_(job),
      layout_(layout),
      gather_(machine, rank, job),
      extents_(layout.size()) {}

Task<> WeightsOnStorage::init() {
  buffers_ = make_weight_buffers(machine_, rank_, job_, layout_);
  const StorageId home = machine_.topology().home(rank_);
  for (std::uint32_t weight = 0; weight < layout_.size(); ++weight) {
    if (!layout_.lives(weight, Home::ssd)) continue;
    const std::uint64_t bytes = layout_.stored_bytes(weight);
    extents_[weight] = co_await machine_.store(home, rank_, Bytes(bytes), Purpose::weights);
    Buffer staging = co_await buffers_->take(weight);
    const View view = staging.view(0, bytes);
    const Op made =
        machine_.run(rank_, first_values(view, job_.row(weight).weight.type, Role::weight, weight,
                                         first_element(job_, rank_, weight)));
    co_await machine_.write(rank_, extents_[weight], {0, view.bytes}, view, made);
  }
}

View WeightsOnStorage::share(std::uint32_t weight) const {
  throw description::InternalError("weight " + std::to_string(weight) +
                                   " lies on storage, not in memory");
}

Task<FetchedWeight> WeightsOnStorage::fetch(const LayerWeight& slot, Buffer into) {
  const WeightGather::GatherTarget target = gather_.target(slot, into);
  const Buffer staging = co_await buffers_->take(slot.weight);
  const View view = staging.view(0, layout_.stored_bytes(slot.weight));
  last_read_ = machine_.read(rank_, extents_[slot.weight], {0, view.bytes}, view, last_read_);
  const Op read = last_read_;
  const Op there = machine_.copy(rank_, target.own, view.part(0, slot.share_bytes), read);
  co_return FetchedWeight{target.whole, gather_.gather(target, target.own, there), read};
}

}  // namespace spillway::strategies
