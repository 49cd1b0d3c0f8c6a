#include "scenarios/description/mixed_traffic.hpp"

#include <algorithm>

namespace spillway::description {

namespace {
/// 1 where both directions take half of the device time, 0 where one has it alone.
double mixing(double reads) { return 4 * reads * (1 - reads); }
}  // namespace

double efficiency_of_mix(double at_half, double reads) {
  return std::min(1 - (1 - at_half) * mixing(reads), 1 / std::max(reads, 1 - reads));
}

double fitted_mixed_efficiency(const std::vector<MeasuredMix>& mixes) {
  // efficiency - 1 = -loss x mixing: a line through 0
  double products = 0, squares = 0;
  for (const MeasuredMix& mix : mixes) {
    const double weight = mixing(mix.reads_share());
    products += (1 - mix.efficiency()) * weight;
    squares += weight * weight;
  }
  const double loss = squares > 0 ? products / squares : 0;
  return std::clamp(1 - loss, 0.001, most_mixed_efficiency);
}

}  // namespace spillway::description
