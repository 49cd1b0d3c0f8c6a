#pragma once

#include "scenarios/description/knob.hpp"
#include "scenarios/description/names.hpp"
#include "scenarios/description/units.hpp"

#include <cstdint>
#include <limits>
#include <optional>

namespace spillway::description {

enum class Home { gpu, host, ssd };
template <>
inline constexpr auto names_of<Home> = in_order("gpu", "host", "ssd");
/// Where the routed experts of layers lie, and who multiplies by them.
///   as_others  as weights.home says of all weights
///   alone      they alone lie at weights.home, and come for the layers that need them: all other
///              weights stay on the GPU
///   cpu        in host memory, where the CPU multiplies by them: they never come to the GPU.
///              Source  KTransformers (SOSP 2025)
enum class ExpertPlace : std::uint8_t { as_others, alone, cpu };
template <>
inline constexpr auto names_of<ExpertPlace> = in_order("as_others", "alone", "cpu");
enum class PoolKind { none, monolithic, adaptive, pages, ring };
template <>
inline constexpr auto names_of<PoolKind> = in_order("none", "monolithic", "adaptive", "pages",
                                                    "ring");
enum class PinnedPolicy { power_of_two, exact };
template <>
inline constexpr auto names_of<PinnedPolicy> = in_order("power_of_two", "exact");

/// How weights that the CPU has updated come back to the GPU where they lie.
///   typed  by a copy that changes type and blocks: converted into memory that is made for it, and
///          from there at pcie.pageable_h2d
enum class WeightCopy { pinned, typed };
template <>
inline constexpr auto names_of<WeightCopy> = in_order("pinned", "typed");

/// Weights on SSD are read into its buffers; other kinds are for weights in host memory, or for
/// none.
constexpr bool takes_reads(PoolKind pool) {
  return pool != PoolKind::none && pool != PoolKind::pages;
}
/// `buffer_count` buffers of `buffer_size`, each for any weight.
constexpr bool has_equal_buffers(PoolKind pool) {
  return pool == PoolKind::monolithic || pool == PoolKind::ring;
}

/// `prefetch_bucket` and `max_live` "all": no limit.
inline constexpr Params all_params = Params(~std::uint64_t{0});

/// Buffers of a monolithic pool or a ring where nobody says how many: 2 for vocabulary tensors and
/// 7 for each block in flight.
constexpr std::uint64_t buffers_of_blocks(std::uint64_t blocks) { return 2 + 7 * blocks; }

/// Where 16-bit weights lie, and how they come to the GPU. An empty optional of what is no knob of
/// one system alone is "auto".
struct WeightsPart {
  Home home = Home::gpu;
  PoolKind pool = PoolKind::none;
  std::uint64_t prefetch_blocks = 1;
  std::optional<std::uint64_t> buffer_count;
  std::optional<Params> buffer_size;
  Params max_in_host;
  bool overlap = true;
  bool hooks = false;
  WeightCopy h2d = WeightCopy::pinned;
  std::optional<PinnedPolicy> pinned;
  Params persistence_threshold;
  std::optional<ExpertPlace> experts;  ///< absent: as_others
  std::optional<Bytes> expert_cache;   ///< of experts alone outside the GPU; absent: none

  bool experts_alone() const { return experts == ExpertPlace::alone; }
  bool experts_on_cpu() const { return experts == ExpertPlace::cpu; }
  Params max_live = all_params;
  Params prefetch_bucket = all_params;
  Params max_reuse;
  Bytes page = Bytes(4ull << 20);
  std::optional<Or<Params, "auto">> chunk;       ///< absent: weights do not come by chunks
  std::optional<Or<Bytes, "auto">> chunk_cache;  ///< absent: said by nobody
};

template <class Io, class Part>
void routed_expert_knobs(Io& io, Part& part) {
  io.optional(
      {"experts",
       "routed experts: as_others, as weights.home says; alone, they alone leave the GPU; cpu, "
       "they stay in host memory, and the CPU multiplies by them at host.compute",
       "", "any, of a model with experts"},
      part.experts);
  io.optional({"expert_cache",
               "GPU memory for experts that do not leave it, of all layers those that most tokens "
               "choose",
               "", "any, with weights.experts alone"},
              part.expert_cache);
}

template <class Io, class Part>
void weights_knobs(Io& io, Part& part) {
  io({"home", "where 16-bit weights lie between their uses",
      "zero_optimization.offload_param.device"},
     part.home);
  io({"pool",
      "pinned host buffers that weights pass through: monolithic has buffers of one size, adaptive "
      "one for each shape, pages lists of small pages, ring buffers of one size that are used in a "
      "fixed order"},
     part.pool);
  io({"prefetch_blocks", "layers read ahead of the one that computes"}, part.prefetch_blocks,
     {0, 1000});
  io.automatic({"buffer_count",
                "buffers of a monolithic pool or a ring; auto: 2 + 7 a layer that is read ahead",
                "zero_optimization.offload_param.buffer_count"},
               part.buffer_count, {1, 100'000});
  io.automatic(
      {"buffer_size", "elements of one of them; auto: a rank's share of the largest tensor",
       "zero_optimization.offload_param.buffer_size"},
      part.buffer_size);
  io({"max_in_host", "elements that stay in host memory in place of SSD",
      "zero_optimization.offload_param.max_in_cpu"},
     part.max_in_host);
  io({"overlap",
      "false: a layer's reads begin when the layer before has left the GPU, and its kernels wait "
      "for all of them"},
     part.overlap);
  io({"hooks",
      "the thread that launches kernels runs hooks of ZeRO-3 before each module whose weights are "
      "gathered, host.module_hooks each, as DeepSpeed does"},
     part.hooks);
  io({"h2d",
      "weights on the GPU that the CPU updates come back through pinned memory at pcie.h2d; typed: "
      "by a copy that changes type and blocks, converted into memory whose pages are new "
      "(host.first_touch) and copied on at pcie.pageable_h2d"},
     part.h2d);
  io.automatic({"pinned", "rounding of the flat host buffer of the weights; auto: strategy.pinned"},
               part.pinned);
  io({"persistence_threshold", "tensors up to so many elements stay whole on every GPU",
      "zero_optimization.stage3_param_persistence_threshold"},
     part.persistence_threshold);
  routed_expert_knobs(io, part);
  io.word({"max_live", "gathered elements alive on a GPU at which fetching ahead stops",
           "zero_optimization.stage3_max_live_parameters"},
          part.max_live, "all", all_params);
  io.word({"prefetch_bucket", "elements that a layer may gather before its turn",
           "zero_optimization.stage3_prefetch_bucket_size"},
          part.prefetch_bucket, "all", all_params);
  io({"max_reuse",
      "weights that backward uses again before so many elements have passed stay on the GPU",
      "zero_optimization.stage3_max_reuse_distance"},
     part.max_reuse);
  io({"page", "pool pages: bytes of a page"}, part.page);
  io.optional({"chunk",
               "weights in host memory lie in chunks of so many elements and come to the GPU chunk "
               "by chunk; auto: of least waste",
               "", "colossal_gemini, and any with weights in host memory"},
              part.chunk);
  io.optional(
      {"chunk_cache", "GPU memory for chunks that no layer uses; auto: what a counting run leaves",
       "", "colossal_gemini, and any with weights in host memory"},
      part.chunk_cache);
}

}  // namespace spillway::description
