#pragma once

#include "explore/store/store.hpp"
#include "scenarios/document/offers.hpp"

#include <vector>

namespace spillway::explore {

/// A point at other prices.
struct RepricedPoint {
  PointRow row;  ///< its objectives and `front` are those at the new prices
  double price_usd = 0, old_usd = 0;
};

/// What an exploration says at other prices. Nothing is simulated: times and memory do not depend
/// on prices.
struct Repriced {
  std::vector<RepricedPoint> front;
  std::uint64_t points = 0;   ///< that fulfil the constraints at the new prices
  std::uint64_t joined = 0;   ///< of them, those that did not at the old ones
  std::uint64_t unknown = 0;  ///< left out: a constraint names what the database does not hold
  std::uint64_t pruned = 0;   ///< by bounds at the old prices: nobody knows what they are now
  std::size_t prices = 0;     ///< of the machine that the offers changed
};

/// Prices the points of a space anew: each point's machine is that of a stored result with the
/// point's own values of the axes.
///   Throws  ScenarioError when no result is stored, or its machine has no prices
Repriced reprice(Store& store, const SpaceRow& space, const std::vector<scenarios::Offer>& offers);

}  // namespace spillway::explore
