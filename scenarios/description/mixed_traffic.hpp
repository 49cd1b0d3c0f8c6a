#pragma once

#include <vector>

namespace spillway::description {

/// The `mixed_efficiency` of a drive that is exactly two, one for each direction.
inline constexpr double most_mixed_efficiency = 2;

/// r/R + w/W of a drive whose reads take the share `reads` (0..1) of its device time, as of
/// `at_half` where they take half of it: 1 - (1 - at_half) 4 reads (1 - reads).
///   Cap  1 / max(reads, 1 - reads): no direction is faster than alone
double efficiency_of_mix(double at_half, double reads);

/// What was measured of a drive: read and written bytes per second over those of each alone.
struct MeasuredMix {
  double reads = 0, writes = 0;
  double efficiency() const { return reads + writes; }
  double reads_share() const { return reads / efficiency(); }
};

/// `at_half` by least squares over mixes, each of both directions; within 0.001 and
/// most_mixed_efficiency. 1 without any.
double fitted_mixed_efficiency(const std::vector<MeasuredMix>& mixes);

}  // namespace spillway::description
