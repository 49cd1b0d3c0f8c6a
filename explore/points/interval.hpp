#pragma once

#include "explore/expressions/expression.hpp"

namespace spillway::explore {

/// All that a number can be.
struct Interval {
  double least = 0, most = 0;

  static Interval anything();
  static Interval exactly(double value) { return {value, value}; }
};

/// All that `expression` can be while its names are within `values`, in their order. Never too
/// narrow; wider than need be where a name stands twice.
Interval range_of(const Expression& expression, std::span<const Interval> values);

}  // namespace spillway::explore
