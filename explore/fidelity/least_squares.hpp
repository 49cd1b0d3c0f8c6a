#pragma once

#include <functional>
#include <vector>

namespace spillway::explore {

/// A point of the parameter space, or the residuals there.
using Numbers = std::vector<double>;

/// Residuals at each of several points, which may be worked out at once.
using ResidualsAt = std::function<std::vector<Numbers>(const std::vector<Numbers>& points)>;

struct LeastSquaresProblem {
  Numbers start, low, high;  ///< low <= start <= high
  double step = 0.01;        ///< for differences, as a share of a parameter's value
  std::size_t iterations = 12;
};

/// d residual / d parameter at `point` by central differences; one-sided where the other side is
/// out of bounds.
///   Result  [residual][parameter]
std::vector<Numbers> jacobian(const LeastSquaresProblem& problem, const Numbers& point,
                              const ResidualsAt& residuals);

/// The point within bounds whose residuals have the least sum of squares, by Levenberg-Marquardt
/// with an active set of bounds. Stops after `iterations`, or when what is left to try moves no
/// parameter by 1e-4 of its start; it never ends at a worse point than it began.
///   Throws  what `residuals` throws; InternalError when they are no numbers at the start
///   Source  Marquardt 1963, with the diagonal of J'J as the scale of the damping
Numbers least_squares(const LeastSquaresProblem& problem, const ResidualsAt& residuals);

}  // namespace spillway::explore
