#include "explore/points/sobol.hpp"

#include <boost/random/sobol.hpp>

#include <algorithm>
#include <random>
#include <unordered_set>

namespace spillway::explore {

namespace {

/// Numbers drawn for each point that is wanted: beyond, what is left of the space is too little.
constexpr std::uint64_t draws_per_sample = 64;

}  // namespace

void sobol_points(const Points& points, std::uint64_t seed, std::uint64_t samples,
                  const std::function<bool(const Coordinates&)>& visit) {
  const auto& axes = points.space().axes;
  using Engine = boost::random::sobol_engine<std::uint32_t, 32>;
  Engine engine(axes.size());
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> turn;
  for (std::size_t a = 0; a < axes.size(); ++a)
    turn.push_back(static_cast<std::uint32_t>(random()));
  std::unordered_set<std::uint64_t> seen;
  const std::uint64_t wanted = std::min(samples, points.count());
  Coordinates at(axes.size());
  for (std::uint64_t draw = 0; seen.size() < wanted && draw / draws_per_sample < wanted; ++draw) {
    for (std::size_t a = 0; a < at.size(); ++a) {
      const std::uint64_t number = static_cast<std::uint32_t>(engine() + turn[a]);
      at[a] = static_cast<std::uint32_t>((number * axes[a].values.size()) >> 32);
    }
    if (!points.allowed(at) || !seen.insert(points.number(at)).second) continue;
    if (!visit(at)) return;
  }
}

}  // namespace spillway::explore
