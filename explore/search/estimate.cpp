#include "explore/search/estimate.hpp"

#include "explore/points/sobol.hpp"
#include "explore/search/bounder.hpp"

#include <algorithm>
#include <chrono>

namespace spillway::explore {

namespace {

using Clock = std::chrono::steady_clock;

/// Demands that are counted once for all points that differ along fast axes only.
double groups_of(const Points& space, const Bounder& bounder) {
  double groups = 1;
  for (std::size_t axis = 0; axis < space.space().axes.size(); ++axis)
    if (!bounder.fast()[axis])
      groups *= static_cast<double>(space.space().axes[axis].values.size());
  return groups;
}

/// The scenario of a point; nothing when its values contradict each other.
std::optional<description::Scenario> scenario_at(const Points& space, const Coordinates& at) {
  try {
    return scenarios::read_scenario(space.space().base, space.overrides(at), known_systems(),
                                    scenarios::Refuse::what_cannot_run)
        .scenario;
  } catch (const description::ScenarioError&) {
    return std::nullopt;
  }
}

void simulate_sample(const Backend& backend, const std::vector<description::Scenario>& open,
                     std::size_t jobs, Estimate& found) {
  const auto start = Clock::now();
  std::size_t done = 0;
  for (const Outcome& outcome : simulate_all(backend, open, jobs)) {
    found.whole = found.whole && !outcome.not_tried;
    done += !outcome.not_tried;
    if (!outcome.result) continue;
    const double each = outcome.result->simulated_in_s;
    found.shortest_s = found.longest_s == 0 ? each : std::min(found.shortest_s, each);
    found.longest_s = std::max(found.longest_s, each);
  }
  if (done > 0) found.mean_s = seconds_since(start) / static_cast<double>(done);
}

}  // namespace

Estimate estimate(const Backend& backend, const Points& space, std::uint64_t points,
                  std::size_t samples, std::size_t jobs) {
  Estimate found;
  const Measures measures(space);
  Bounder bounder(space, measures);
  std::vector<description::Scenario> open;
  const auto start = Clock::now();
  sobol_points(space, 1, samples, [&](const Coordinates& at) {
    if (!backend.goes_on()) return found.whole = false;
    ++found.sampled;
    const PointBound* bound = bounder.of(at);
    if (bound && bound->hopeless) return true;
    if (auto scenario = scenario_at(space, at)) open.push_back(std::move(*scenario));
    return true;
  });
  if (found.sampled == 0) return found;
  const auto sampled = static_cast<double>(found.sampled), all = static_cast<double>(points);
  found.bounds_s = seconds_since(start) / sampled * std::min(all, groups_of(space, bounder));
  found.open_share = static_cast<double>(open.size()) / sampled;
  simulate_sample(backend, open, jobs, found);
  found.simulations_s = found.mean_s * found.open_share * all;
  return found;
}

}  // namespace spillway::explore
