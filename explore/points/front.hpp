#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spillway::explore {

/// A point that nothing known beats.
struct FrontPoint {
  std::uint64_t number = 0;
  std::string key;
  std::vector<double> costs;  ///< by objective, the smaller the better
};

/// Points of which none is at least as good as another in every objective: of those that are equal
/// in all, to a billionth, the one that came first.
class Front {
 public:
  /// Whether a point of it is as good in every objective.
  bool beats(std::span<const double> costs) const;

  bool has(std::uint64_t number) const;

  /// Adds a point that it does not beat.
  ///   Result  those that it beats, which are taken out
  std::vector<FrontPoint> add(FrontPoint point);

  const std::vector<FrontPoint>& points() const { return points_; }

 private:
  std::vector<FrontPoint> points_;
  mutable std::size_t last_ = 0;  ///< which one beat the last time: likely the next one too
};

}  // namespace spillway::explore
