#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spillway::reports {

/// Nanoseconds, the finest that trace viewers tell apart.
struct Interval {
  std::int64_t start = 0, end = 0;  ///< start <= end
};

/// Which lane each interval goes to, so that in one lane any two are apart, touching included: a
/// viewer draws a bar inside another one as a call that the other makes, which parallel transfers
/// are not.
///   Result  [intervals] lanes from 0; the lowest that has room, taking intervals by start, the
///           shorter first, then in the given order
std::vector<std::size_t> lanes(std::span<const Interval> intervals);

}  // namespace spillway::reports
