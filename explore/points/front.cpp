#include "explore/points/front.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::explore {

namespace {

/// What sums in another order may differ by.
constexpr double alike = 1e-9;

bool no_worse(double one, double other) {
  return one <= other || (std::isfinite(other) && one - other <= alike * std::abs(other));
}

bool as_good(std::span<const double> one, std::span<const double> other) {
  for (std::size_t i = 0; i < one.size(); ++i)
    if (!no_worse(one[i], other[i])) return false;
  return true;
}

}  // namespace

bool Front::beats(std::span<const double> costs) const {
  if (last_ < points_.size() && as_good(points_[last_].costs, costs)) return true;
  for (std::size_t i = 0; i < points_.size(); ++i)
    if (as_good(points_[i].costs, costs)) {
      last_ = i;
      return true;
    }
  return false;
}

bool Front::has(std::uint64_t number) const {
  return std::any_of(points_.begin(), points_.end(),
                     [number](const FrontPoint& point) { return point.number == number; });
}

std::vector<FrontPoint> Front::add(FrontPoint point) {
  std::vector<FrontPoint> beaten;
  const auto rest = std::stable_partition(
      points_.begin(), points_.end(),
      [&](const FrontPoint& known) { return !as_good(point.costs, known.costs); });
  beaten.assign(std::make_move_iterator(rest), std::make_move_iterator(points_.end()));
  points_.erase(rest, points_.end());
  points_.push_back(std::move(point));
  return beaten;
}

}  // namespace spillway::explore
