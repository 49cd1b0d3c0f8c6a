#pragma once

#include "strategies/parts/weights/weights_in_host.hpp"

namespace spillway::strategies {

/// Weights in host memory that somebody renews while steps read them (see UpdateLoop): a renewal is
/// copied between two fetches of the weight, and what each fetch saw is noted, for who repeats the
/// training.
///   Source  Angel-PTM (VLDB'23), lock-free update
class RenewedWeights final : public WeightsInHost {
 public:
  /// seen  gets, by weight, how many renewals each fetch saw
  RenewedWeights(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout,
                 std::vector<std::vector<std::uint64_t>>& seen);

  /// New values of a weight, between fetches that have begun and those to come. No other operation
  /// writes `from`.
  Op renew(std::uint32_t weight, const View& from);

 private:
  Op values(std::uint32_t weight) const override { return renewed_[weight]; }
  void copied(std::uint32_t weight, const Op& copy) override;

  std::vector<std::vector<std::uint64_t>>& seen_;
  std::vector<Op> read_, renewed_;  ///< by weight: its last copies
  std::vector<std::uint64_t> renewals_;
};

}  // namespace spillway::strategies
