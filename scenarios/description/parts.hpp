#pragma once

#include "scenarios/description/units.hpp"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::description {

/// The parts of a strategy, each a value of the scenario ("strategy" in FORMATS). An empty optional
/// is "auto" and is settled when the run starts. What each knob does to schedule and ledger stands
/// in the docstring of the part that reads it, under strategies/parts/.

enum class Home { gpu, host, ssd };
enum class PoolKind { none, monolithic, adaptive, pages };
enum class ActivationPolicy {
  keep,
  checkpoint_gpu,
  checkpoint_host,
  checkpoint_ssd,
  swap,
  tensor_cache,
  plan,
};
enum class GradientPolicy { resident, host_fp16, host_fp32, ssd_fp32, active_naive, active };
/// Sub-groups are updated while backward goes on, not after it.
constexpr bool updates_in_backward(GradientPolicy policy) {
  return policy == GradientPolicy::active || policy == GradientPolicy::active_naive;
}
enum class OptimizerDevice { gpu, cpu, near_storage };
enum class SubgroupOrder { ascending, descending, alternating };
enum class Grouping { parameter_groups, model_order, layers };
enum class OverflowCheck { none, chained, fused };
enum class PinnedPolicy { power_of_two, exact };
enum class IoEngine { file, direct, gds };
enum class GpuAllocator { caching, exact };
enum class Width { fp16, fp32 };  ///< element type of a host gradient buffer
enum class ConvertOn { gpu, cpu };
enum class CopyMemory { pinned, pageable };
/// Where offloaded gradients come down: to one flat buffer that they leave again for their norm
/// (DeepSpeed's ZeRO-3), or straight to the fp32 gradients of the optimizer (its ZeRO-1 and 2).
enum class Landing { flat, states };

/// `prefetch_bucket` and `max_live` "all": no limit.
inline constexpr Params all_params = Params(~std::uint64_t{0});

struct WeightsPart {
  Home home = Home::gpu;
  PoolKind pool = PoolKind::none;
  std::uint64_t prefetch_blocks = 1;          ///< blocks fetched ahead of the one that computes
  std::optional<std::uint64_t> buffer_count;  ///< monolithic pool; auto: 2 + 7 prefetch_blocks
  std::optional<Params> buffer_size;  ///< elements; auto: a rank's share of the largest tensor
  Params max_in_host;                 ///< DeepSpeed's max_in_cpu: elements kept in host memory
  bool overlap = true;  ///< false: a block's kernels wait for its SSD read, issued late
  std::optional<PinnedPolicy> pinned;  ///< of the flat host buffer; auto: Strategy::pinned
  Params persistence_threshold;        ///< DeepSpeed: tensors up to this stay whole on every GPU
  /// DeepSpeed: elements on the GPU above which nothing is fetched ahead; 0: nothing ever is.
  Params max_live = all_params;
  /// DeepSpeed: elements that each module fetches ahead; 0: nothing is fetched ahead.
  Params prefetch_bucket = all_params;
  /// DeepSpeed's max_reuse_distance: weights that are used again before so many elements are stay.
  Params max_reuse;
  Bytes page = Bytes(4ull << 20);  ///< pool pages: every tensor is a list of these
};

struct ActivationsPart {
  ActivationPolicy policy = ActivationPolicy::keep;
  std::optional<Bytes> swap_bytes;  ///< auto: planned; `all_bytes`: no limit
  std::vector<std::string> homes;
};

struct GradientsPart {
  GradientPolicy policy = GradientPolicy::resident;
  Width accumulation = Width::fp32;  ///< element type of the flat host buffer
  ConvertOn convert = ConvertOn::gpu;
  CopyMemory d2h = CopyMemory::pinned;
  bool overlap = true;
  Bytes flush_tail;                    ///< per rank: may be unwritten when backward ends
  std::optional<PinnedPolicy> pinned;  ///< of the flat buffer; auto: Strategy::pinned
  bool staging_buffer = false;
  /// Kernels add a micro-batch to gradients that stay on the GPU; else it has tensors of its own.
  bool fused_accumulation = true;
  bool init_copy = false;
  std::optional<Landing> lands;  ///< auto: states for ZeRO-1 and 2 that keep weights on the GPU
  Params reduce_bucket = Params(500'000'000);  ///< DeepSpeed's reduce_bucket_size, elements
};

/// `staleness: "async"`: steps do not wait for updates.
inline constexpr std::uint64_t any_staleness = ~std::uint64_t{0};

struct OptimizerPart {
  OptimizerDevice device = OptimizerDevice::gpu;
  Home home = Home::gpu;
  SubgroupOrder order = SubgroupOrder::ascending;
  Params subgroup = Params(100'000'000);
  Grouping grouping = Grouping::parameter_groups;
  bool fused_tensors = false;
  std::optional<std::uint64_t> buffers;
  /// Storage -> weight of its share of the sub-groups; auto: by bandwidth. Empty: the node's
  /// drives as one stripe. In what people write "*" stands for every storage.
  std::map<std::string, std::optional<double>> paths;
  std::map<std::string, std::uint64_t> lanes;  ///< storage -> workers that use it at once; 1
  bool adapt = true;        ///< estimate the bandwidths of `auto` paths anew after each step
  double host_fill = 0.78;  ///< share of host memory that `buffers` auto may fill
  bool pipeline_read = false;
  bool pipeline_write = false;
  bool tier_lock = false;
  std::optional<Bytes> host_cache;
  std::uint64_t staleness = 0;   ///< steps that an update comes late; or `any_staleness`
  std::uint64_t read_ahead = 0;  ///< sub-groups whose states are read before their gradients come
};

struct Strategy {
  std::string system;
  std::string preset;  ///< "" without
  WeightsPart weights;
  ActivationsPart activations;
  GradientsPart gradients;
  OptimizerPart optimizer;
  OverflowCheck overflow_check = OverflowCheck::none;
  PinnedPolicy pinned = PinnedPolicy::power_of_two;
  IoEngine io_engine = IoEngine::file;
  GpuAllocator gpu_allocator = GpuAllocator::caching;
  bool unlimited_gpu = false;  ///< "gpu_capacity": "unlimited", an ideal without a memory wall
  /// Knobs of the schema that no field above holds, dotted, as JSON text: "activations.keep_last"
  /// ->
  /// "\"module\"". The system that has such a knob reads it from here.
  std::map<std::string, std::string> further;
};

/// `swap_bytes: "all"`: no limit.
inline constexpr Bytes all_bytes = Bytes(~std::uint64_t{0});

/// JSON as people write it: names of enums, quantities as strings with units, "auto".
void to_json(nlohmann::json& json, const Strategy& strategy);
/// Reads a complete, schema-checked strategy object; keys that are absent keep the value they have.
void from_json(const nlohmann::json& json, Strategy& strategy);

}  // namespace spillway::description
