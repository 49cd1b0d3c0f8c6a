#include "strategies/cache_budget.hpp"

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

CacheKnobs cache_knobs(const description::Strategy& strategy) {
  const description::ActivationsPart& said = strategy.activations;
  CacheKnobs knobs;
  knobs.keep_last = said.keep_last.value_or(knobs.keep_last);
  knobs.cancel = said.cancel.value_or(knobs.cancel);
  knobs.prefetch = said.prefetch.value_or(knobs.prefetch);
  knobs.min_elements = said.min_elements.value_or(knobs.min_elements);
  knobs.store_workers = said.store_workers.value_or(knobs.store_workers);
  knobs.load_workers = said.load_workers.value_or(knobs.load_workers);
  knobs.forwarding = said.forwarding.value_or(knobs.forwarding);
  knobs.skip = said.skip.value_or(knobs.skip);
  knobs.profile_step = said.profile_step.value_or(knobs.profile_step);
  if (said.write_rate) knobs.write_rate = said.write_rate->value;
  knobs.to_host = said.homes == std::vector<std::string>{"host"};
  return knobs;
}

void set_cache_defaults(description::Strategy& strategy) {
  const CacheKnobs knobs;
  description::ActivationsPart& part = strategy.activations;
  part.keep_last = knobs.keep_last;
  part.cancel = knobs.cancel;
  part.prefetch = knobs.prefetch;
  part.min_elements = knobs.min_elements;
  part.store_workers = knobs.store_workers;
  part.load_workers = knobs.load_workers;
  part.forwarding = knobs.forwarding;
  part.skip = knobs.skip;
  part.profile_step = knobs.profile_step;
  part.write_rate.emplace();
}

}  // namespace spillway::strategies
