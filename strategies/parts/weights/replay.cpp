#include "strategies/parts/weights/replay.hpp"

namespace spillway::strategies {

using models::Access;

Replay::Replay(Machine& machine, Rank rank, const Job& job, const WeightsOnGpu& weights,
               const Delays& delays)
    : machine_(machine),
      rank_(rank),
      job_(job),
      weights_(weights),
      delays_(delays),
      sums_(job.model.weights.size()) {
  ENSURE(delays.applied.size() == sums_.size() && delays.seen.size() == sums_.size(),
         "recorded delays of another training");
}

/// What the next update goes on from.
View Replay::newest(std::uint32_t weight) const {
  const Sum& sum = sums_[weight];
  if (!sum.waiting.empty()) return sum.waiting.back().view();
  return weights_.updated_share(weight);
}

/// On the compute stream, behind the kernels that were to read the old values.
Op Replay::copy(std::uint32_t weight, View into, View from, const Op& after) {
  const ElementType type = job_.row(weight).weight.type;
  GpuKernel kernel;
  kernel.name = "late weights";
  kernel.work = GpuWork::sum;
  kernel.bytes = static_cast<double>(into.bytes + from.bytes);
  kernel.operands.emplace_back(std::move(from), Access::read, Role::input, type, 0);
  kernel.operands.emplace_back(std::move(into), Access::write, Role::output, type, 0);
  return machine_.run(rank_, std::span<const GpuKernel>(&kernel, 1), after);
}

void Replay::arrived(std::uint32_t weight, const Op& summed) {
  Sum& sum = sums_[weight];
  sum.begins = false;
  ++sum.gradients;
  const std::vector<std::uint64_t>& last = delays_.applied[weight];
  if (sum.updates == last.size() || last[sum.updates] != sum.gradients) return;
  const View old = newest(weight);
  Buffer fresh =
      machine_.allocate_now(TierId::gpu, rank_, Bytes(old.bytes), Purpose::optimizer_states);
  const Op copied = copy(weight, fresh.view(), old, sum.updated);
  sum.updated = update_(weight, ++sum.updates, fresh.view(), After(copied, summed));
  sum.waiting.push_back(std::move(fresh));
  sum.begins = true;
}

Op Replay::show(std::uint32_t weight, std::uint64_t updates) {
  Sum& sum = sums_[weight];
  if (sum.shown == updates) return Op();
  ENSURE(sum.shown < updates && updates <= sum.updates, "an update that is still to come is seen");
  while (sum.shown + 1 < updates) {
    sum.waiting.pop_front();
    ++sum.shown;
  }
  const Op shown =
      copy(weight, weights_.updated_share(weight), sum.waiting.front().view(), sum.updated);
  sum.waiting.pop_front();
  ++sum.shown;
  return shown;
}

Op Replay::fetched(std::uint32_t weight) {
  Sum& sum = sums_[weight];
  const auto& seen = delays_.seen[weight];
  if (sum.fetches == seen.size()) return Op();
  return show(weight, seen[sum.fetches++]);
}

Task<> Replay::show_all() {
  for (std::uint32_t weight = 0; weight < sums_.size(); ++weight) {
    ENSURE(sums_[weight].updates == delays_.applied[weight].size() &&
               sums_[weight].fetches == delays_.seen[weight].size(),
           "a training that is not the one whose delays it repeats");
    const Op shown = show(weight, sums_[weight].updates);
    co_await shown;
  }
}

}  // namespace spillway::strategies
