#include "reports/trace/trace_lanes.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace spillway::reports {

namespace {
/// The bars of one lane, one after the other.
class Lane {
 public:
  bool takes(const Interval& interval) {
    if (interval.start < end_) return false;
    end_ = interval.end;
    return true;
  }

 private:
  std::int64_t end_ = std::numeric_limits<std::int64_t>::min();
};
}  // namespace

std::vector<std::size_t> lanes(std::span<const Interval> intervals) {
  std::vector<std::size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Interval &x = intervals[a], &y = intervals[b];
    return x.start != y.start ? x.start < y.start : x.end < y.end;
  });
  std::vector<Lane> all;
  std::vector<std::size_t> result(intervals.size());
  for (const std::size_t i : order) {
    std::size_t lane = 0;
    while (lane < all.size() && !all[lane].takes(intervals[i])) ++lane;
    if (lane == all.size()) all.emplace_back().takes(intervals[i]);
    result[i] = lane;
  }
  return result;
}

}  // namespace spillway::reports
