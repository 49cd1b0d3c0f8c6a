#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace spillway::explore {

/// What an evolution varies and how long.
struct EvolutionTask {
  std::vector<std::uint32_t> sizes;  ///< values of each axis
  std::size_t objectives = 1;
  std::uint64_t seed = 1;
  std::size_t population = 64;  ///< a multiple of 4, at least 8
  std::size_t generations = 16;
};

using EvolvedPoint = std::vector<std::uint32_t>;
/// The costs of each of several points, the smaller the better; what is not accepted has
/// `rejected_cost` in all.
using EvaluatePoints =
    std::function<std::vector<std::vector<double>>(const std::vector<EvolvedPoint>&)>;

/// More than any cost; sums of it stay finite.
inline constexpr double rejected_cost = 1e30;

/// NSGA-II by pagmo, which this loads: whole generations are evaluated at once, so what it does
/// depends on the seed and the costs alone.
///   Throws  DeviceError when the plugin cannot be opened, and what `evaluate` throws
void evolve(const EvolutionTask& task, const EvaluatePoints& evaluate);

}  // namespace spillway::explore

/// What the plugin shows.
extern "C" void spillway_evolve(const spillway::explore::EvolutionTask& task,
                                const spillway::explore::EvaluatePoints& evaluate);
