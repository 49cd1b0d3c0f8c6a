#pragma once

#include "scenarios/description/activations_part.hpp"
#include "scenarios/description/gradients_part.hpp"
#include "scenarios/description/io_engine.hpp"
#include "scenarios/description/names.hpp"
#include "scenarios/description/optimizer_part.hpp"
#include "scenarios/description/plan_part.hpp"
#include "scenarios/description/weights_part.hpp"

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

namespace spillway::description {

enum class OverflowCheck { none, chained, fused };
template <>
inline constexpr auto names_of<OverflowCheck> = in_order("none", "chained", "fused");
/// In which order the micro-batches of a step run.
///   one_by_one  forward and backward of one, then of the next
///   by_layer    all of them through a layer, then through the next: its weights come once a pass,
///               and its gradients, summed by the kernels, leave once
enum class MicroBatchOrder { one_by_one, by_layer };
template <>
inline constexpr auto names_of<MicroBatchOrder> = in_order("one_by_one", "by_layer");
enum class GpuAllocator { caching, exact };
template <>
inline constexpr auto names_of<GpuAllocator> = in_order("caching", "exact");
enum class GpuCapacity { machine, unlimited };
template <>
inline constexpr auto names_of<GpuCapacity> = in_order("machine", "unlimited");

/// The parts of a strategy ("strategy" in a scenario). Each part's header declares its knobs once:
/// fields, defaults, names, limits and words.
struct Strategy {
  std::string system;
  std::string preset;  ///< "" without
  WeightsPart weights;
  ActivationsPart activations;
  GradientsPart gradients;
  OptimizerPart optimizer;
  PlanPart plan;
  MicroBatchOrder micro_batches = MicroBatchOrder::one_by_one;
  OverflowCheck overflow_check = OverflowCheck::none;
  PinnedPolicy pinned = PinnedPolicy::power_of_two;
  IoEngine io_engine = IoEngine::file;
  GpuAllocator gpu_allocator = GpuAllocator::caching;
  GpuCapacity gpu_capacity = GpuCapacity::machine;

  /// An ideal without a memory wall.
  /// A process loads with other workers than it stores with, each with the process's share of an
  /// array for itself.  Source  SSDTrain's artifact: a pool of threads each
  bool workers_by_way() const { return activations.policy == ActivationPolicy::tensor_cache; }
  bool unlimited_gpu() const { return gpu_capacity == GpuCapacity::unlimited; }
};

/// JSON as people write it: names of enums, quantities as strings with units, "auto".
void to_json(nlohmann::json& json, const Strategy& strategy);
/// Reads a complete, schema-checked strategy object; keys that are absent keep the value they have.
void from_json(const nlohmann::json& json, Strategy& strategy);

/// The draft-07 schema of a strategy, from its lists of knobs: what scenarios/schemas/strategy.json
/// holds.
nlohmann::json strategy_schema();

/// Paths ("weights.chunk") of the knobs of some systems alone that have a value.
std::set<std::string> particular_knobs(const Strategy& strategy);

}  // namespace spillway::description
