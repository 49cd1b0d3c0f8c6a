#pragma once

#include "scenarios/description/scenario.hpp"

#include <cstdint>
#include <span>
#include <string>

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

/// Knobs of `activations.policy: tensor_cache`, as the scenario or the system's defaults have them.
struct CacheKnobs {
  enum class KeepLast : std::uint8_t { none, module, layer };
  enum class Cancel : std::uint8_t { never, behind_budget, always };
  enum class Ahead : std::uint8_t { module, layer, operators };

  explicit CacheKnobs(const description::Strategy& strategy);

  KeepLast keep_last = KeepLast::module;
  Cancel cancel = Cancel::behind_budget;
  Ahead ahead = Ahead::layer;
  std::uint64_t operators_ahead = 0;  ///< of Ahead::operators: those that save something
  std::uint64_t min_elements = 1 << 20;
  std::uint64_t store_workers = 1, load_workers = 1;
  bool forwarding = true;
  bool deduplicate = true;
  bool skips_loss = true, skips_head = true, skips_model = true;
  std::uint64_t profile_step = 2;
  double write_bytes_per_s = 0;  ///< 0: as measured in the profiled step
  bool to_host = false;
};

}  // namespace spillway::strategies
