#pragma once

#include "explore/points/points.hpp"

namespace spillway::explore {

/// Calls visit(coordinates) for `samples` different points that fulfil the conditions, spread over
/// the space as Sobol numbers are; fewer where the space, or what its conditions leave of it, has
/// not as many. Stops when it returns false.
///   seed    another one turns all numbers by another amount on each axis
///   Source  Joe and Kuo's direction numbers, as boost has them
void sobol_points(const Points& points, std::uint64_t seed, std::uint64_t samples,
                  const std::function<bool(const Coordinates&)>& visit);

}  // namespace spillway::explore
