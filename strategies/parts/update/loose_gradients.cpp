#include "strategies/parts/update/loose_gradients.hpp"

#include "strategies/machine/cpu_kernels.hpp"

namespace spillway::strategies {

std::uint64_t LooseGradients::taken(std::uint32_t weight, const Op& taken) {
  Sum& sum = sums_[weight];
  sum.empty = true;
  sum.taken = taken;
  sum.taken_gradients = sum.gradients;
  return sum.gradients;
}

/// To the sum in the flat buffer, however far that was taken since.
Task<GradientsToHost::Down> LooseGradients::bring(const GradientShare& share, MicroBatch) {
  co_await share.ready;
  const Buffer landing = co_await landing_buffer();
  const TypedView from = computed(share);
  const TypedView there(landing.view(0, from.view.bytes), from.type);
  const TypedView into(gradient(share.weight), format(share.weight).type);
  const Op copied = machine_.copy(rank_, there.view, from.view, share.ready);
  Sum& sum = sums_[share.weight];
  const bool first = std::exchange(sum.empty, false);
  const After after(copied, sum.arrived, sum.taken);
  Op added;
  if (first && into.type == there.type)
    added = machine_.copy(rank_, into.view, there.view, after);
  else
    added = machine_.run(
        rank_, convert({into.view, into.type}, {there.view, there.type}, share.elements, !first),
        after);
  sum.arrived = added;
  ++sum.gradients;
  news_.set();
  co_return Down(copied, added);
}

}  // namespace spillway::strategies
