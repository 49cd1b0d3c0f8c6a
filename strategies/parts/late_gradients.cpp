#include "strategies/parts/cpu_kernels.hpp"
#include "strategies/parts/gradients.hpp"
#include "strategies/parts/replay.hpp"

/// Gradients that wait for an update of another step.
namespace spillway::strategies {

View Gradients::handed_over(std::uint32_t weight) const {
  return handed_over_.view(offset_[weight], job_.share(weight, ways_) * flat_width_);
}

View Gradients::handed_over_sectors(std::uint32_t weight) const {
  return handed_over_.view(
      offset_[weight],
      description::divide_up(job_.share(weight, ways_) * flat_width_, storage_sector) *
          storage_sector);
}

/// To the sum that stays here; with a replay, to the one that it is to be in.
Op Gradients::keep(const Share& share, bool first_micro, const After& after) {
  if (replay_) {
    std::vector<Op> all{replay_->reader(share.weight)};
    after.each([&](Operation& on) { all.emplace_back(&on); });
    const Op kept = add_resident(share, replay_->begins(share.weight), all);
    replay_->arrived(share.weight, kept);
    return kept;
  }
  return add_resident(share, first_micro, after);
}

std::uint64_t Gradients::taken(std::uint32_t weight, const Op& taken) {
  Sum& sum = sums_[weight];
  sum.empty = true;
  sum.taken = taken;
  sum.taken_gradients = sum.gradients;
  return sum.gradients;
}

/// To the sum in the flat buffer, however far that was taken since.
Task<Gradients::Down> Gradients::add_down(const Share& share) {
  co_await share.ready;
  const Buffer landing = co_await landing_->take();
  const std::uint64_t bytes = share.elements * width_;
  const View there = landing.view(0, bytes), into = flat(share.weight);
  const Op copied = machine_.copy(rank_, there, share.on_gpu.part(0, bytes), share.ready);
  Sum& sum = sums_[share.weight];
  const bool first = std::exchange(sum.empty, false);
  const After after(copied, sum.arrived, sum.taken);
  Op added;
  if (first && flat_width_ == width_)
    added = machine_.copy(rank_, into, there, after);
  else
    added = machine_.run(
        rank_, convert({into, flat_type()}, {there, job_.weight_type()}, share.elements, !first),
        after);
  sum.arrived = added;
  ++sum.gradients;
  news_.set();
  co_return Down(copied, added);
}

}  // namespace spillway::strategies
