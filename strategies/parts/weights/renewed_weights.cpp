#include "strategies/parts/weights/renewed_weights.hpp"

namespace spillway::strategies {

RenewedWeights::RenewedWeights(Machine& machine, Rank rank, const Job& job,
                               const WeightLayout& layout,
                               std::vector<std::vector<std::uint64_t>>& seen)
    : WeightsInHost(machine, rank, job, layout),
      seen_(seen),
      read_(layout.size()),
      renewed_(layout.size()),
      renewals_(layout.size()) {
  seen_.resize(layout.size());
}

Op RenewedWeights::renew(std::uint32_t weight, const View& from) {
  renewed_[weight] = machine_.copy(rank_, share(weight).part(0, from.bytes), from,
                                   After(read_[weight], renewed_[weight]));
  ++renewals_[weight];
  return renewed_[weight];
}

void RenewedWeights::copied(std::uint32_t weight, const Op& copy) {
  read_[weight] = copy;
  seen_[weight].push_back(renewals_[weight]);
}

}  // namespace spillway::strategies
