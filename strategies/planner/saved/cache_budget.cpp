#include "strategies/planner/saved/cache_budget.hpp"

#include <algorithm>

namespace spillway::strategies {

std::size_t modules_to_offload(std::span<const ModuleLoad> modules, double forward_s,
                               double write_bytes_per_s) {
  double seconds = 0, bytes = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const double volume = bytes + 2 * static_cast<double>(modules[i].bytes);
    const double window = 3 * forward_s - 2 * seconds;
    if (volume > write_bytes_per_s * window) return i;
    seconds += modules[i].seconds;
    bytes += static_cast<double>(modules[i].bytes);
  }
  return modules.size();
}

double required_write_bandwidth(std::uint64_t bytes, double step_s) {
  return step_s > 0 ? static_cast<double>(bytes) / (step_s / 2) : 0;
}

bool CacheKnobs::skips(description::SkippedLayer layer) const {
  return std::find(skip.begin(), skip.end(), layer) != skip.end();
}

namespace {

/// Calls `visit(knob, said)` for each knob that has a value and what a strategy says of it.
template <class Knobs, class Part, class Visit>
void each_cache_knob(Knobs& knobs, Part& part, Visit visit) {
  visit(knobs.keep_last, part.keep_last);
  visit(knobs.cancel, part.cancel);
  visit(knobs.prefetch, part.prefetch);
  visit(knobs.min_elements, part.min_elements);
  visit(knobs.store_workers, part.store_workers);
  visit(knobs.load_workers, part.load_workers);
  visit(knobs.forwarding, part.forwarding);
  visit(knobs.skip, part.skip);
  visit(knobs.profile_step, part.profile_step);
}

}  // namespace

CacheKnobs cache_knobs(const description::Strategy& strategy) {
  CacheKnobs knobs;
  each_cache_knob(knobs, strategy.activations, [](auto& knob, const auto& said) {
    if (said) knob = *said;
  });
  if (strategy.activations.write_rate) knobs.write_rate = strategy.activations.write_rate->value;
  knobs.to_host = strategy.activations.homes == std::vector<std::string>{"host"};
  return knobs;
}

void set_cache_defaults(description::Strategy& strategy) {
  const CacheKnobs knobs;
  each_cache_knob(knobs, strategy.activations, [](const auto& knob, auto& said) { said = knob; });
  strategy.activations.write_rate.emplace();
}

}  // namespace spillway::strategies
