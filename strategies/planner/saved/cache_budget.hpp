#pragma once

#include "scenarios/description/scenario.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace spillway::strategies {

/// A candidate of the planner: what the module saves, and how long its forward takes.
struct ModuleLoad {
  double seconds = 0;
  std::uint64_t bytes = 0;
};

/// How many modules, from the first, can be stored at `write_bytes_per_s` and be back in time:
/// module i can when all before it are stored and it is stored and reloaded, in forward (F) and in
/// backward (2 F) down to and including it.
///   Condition   (sum of bytes before i + 2 x bytes of i) / (3 F - 2 x seconds before i) <= rate;
///               the first module that fails is kept, and all after it
///   Source      SSDTrain's artifact; its section III-C2 says only what the amount depends on
std::size_t modules_to_offload(std::span<const ModuleLoad> modules, double forward_s,
                               double write_bytes_per_s);

/// Write bandwidth that hides all stores: bytes of a step over half of it.
///   Source  SSDTrain, section III-D
double required_write_bandwidth(std::uint64_t bytes, double step_s);

/// Knobs of `activations.policy: tensor_cache`. The initial values are those of a scenario and a
/// system that say nothing.
struct CacheKnobs {
  description::KeepLast keep_last = description::KeepLast::module;
  description::CancelStores cancel = description::CancelStores::behind_budget;
  description::PrefetchDistance prefetch;
  std::uint64_t min_elements = 1 << 20;
  std::uint64_t store_workers = 1, load_workers = 1;
  bool forwarding = true;
  std::vector<description::SkippedLayer> skip = {description::SkippedLayer::loss,
                                                 description::SkippedLayer::head,
                                                 description::SkippedLayer::model};
  std::uint64_t profile_step = 2;
  std::optional<description::BytesPerSecond> write_rate;  ///< none: as measured in profile_step
  bool to_host = false;

  bool skips(description::SkippedLayer layer) const;
};
CacheKnobs cache_knobs(const description::Strategy& strategy);

/// Says all of them in the strategy of a system whose cache is its own.
void set_cache_defaults(description::Strategy& strategy);

}  // namespace spillway::strategies
