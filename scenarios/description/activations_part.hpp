#pragma once

#include "scenarios/description/knob.hpp"
#include "scenarios/description/left_open.hpp"
#include "scenarios/description/names.hpp"
#include "scenarios/description/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway::description {

enum class ActivationPolicy {
  keep,
  offload,
  checkpoint_gpu,
  checkpoint_host,
  checkpoint_ssd,
  swap,
  tensor_cache,
  plan,
};
template <>
inline constexpr auto names_of<ActivationPolicy> = in_order("keep", "offload", "checkpoint_gpu",
                                                            "checkpoint_host", "checkpoint_ssd",
                                                            "swap", "tensor_cache", "plan");
/// Which saved tensors stay on the GPU follows from the machine: a planner or a cache decides.
constexpr bool moves_by_plan(ActivationPolicy policy) {
  return policy == ActivationPolicy::swap || policy == ActivationPolicy::tensor_cache ||
         policy == ActivationPolicy::plan;
}
/// Who decides by the machine what is computed again, or where all tensors are. A cache decides by
/// it too, but only what leaves the GPU.
///   by_fates  of `plan`: the planner gives each saved tensor its fate, and moves nothing else
constexpr LeftOpen left_open(ActivationPolicy policy, bool by_fates) {
  LeftOpen open;
  open.recomputation =
      policy == ActivationPolicy::swap || (policy == ActivationPolicy::plan && by_fates);
  open.placement = policy == ActivationPolicy::plan && !by_fates;
  return open;
}
/// What it comes to on a GPU with room for everything: from there a cache moves nothing.
constexpr ActivationPolicy with_room_for_all(ActivationPolicy policy) {
  return policy == ActivationPolicy::tensor_cache ? ActivationPolicy::keep : policy;
}
/// Operators by what they keep for backward.
///   attention   query, key, value, output and what its softmax needs
///   activation  what goes into the activation, or the gated product, of a feed-forward
///   norm        inputs and statistics; the first of a block: the block's input
///   product     inputs of matrices
enum class SavingOperator { attention, activation, norm, product };
template <>
inline constexpr auto names_of<SavingOperator> = in_order("attention", "activation", "norm",
                                                          "product");
enum class SwapOrder { offloading_benefit, layer };
template <>
inline constexpr auto names_of<SwapOrder> = in_order("offloading_benefit", "layer");
enum class MinSwap { inter_block, none };
template <>
inline constexpr auto names_of<MinSwap> = in_order("inter_block", "none");
enum class ActivationPlanner { teraio, g10, flashneuron, capuchin, checkmate };
template <>
inline constexpr auto names_of<ActivationPlanner> = in_order("teraio", "g10", "flashneuron",
                                                             "capuchin", "checkmate");
/// To saved tensors alone, for a schedule that streams layers; not only to all tensors of a step.
constexpr bool gives_fates(ActivationPlanner planner) {
  return planner != ActivationPlanner::teraio;
}
enum class KeepLast { none, module, layer };
template <>
inline constexpr auto names_of<KeepLast> = in_order("none", "module", "layer");
enum class CancelStores { never, behind_budget, always };
template <>
inline constexpr auto names_of<CancelStores> = in_order("never", "behind_budget", "always");
enum class SkippedLayer { loss, head, model };
template <>
inline constexpr auto names_of<SkippedLayer> = in_order("loss", "head", "model");

/// How far ahead of its use backward asks for a tensor of a cache.
struct PrefetchDistance {
  enum class Unit { module, layer, operators };
  Unit unit = Unit::layer;
  std::uint64_t operators = 0;  ///< of Unit::operators: those that save something
  bool operator==(const PrefetchDistance&) const = default;
};

/// `swap_bytes: "all"`: no limit.
inline constexpr Bytes all_bytes = Bytes(~std::uint64_t{0});

/// What happens to the tensors that forward saves for backward. Optionals but for `swap_bytes`
/// are knobs of some systems: absent where neither the system nor the scenario has them.
struct ActivationsPart {
  ActivationPolicy policy = ActivationPolicy::keep;
  std::uint64_t checkpoint_every = 1;
  std::optional<Bytes> swap_bytes;  ///< auto: planned; `all_bytes`: no limit
  std::vector<std::string> homes;
  std::optional<std::vector<SavingOperator>> offloaded;  ///< of offload; none: everything
  std::optional<SwapOrder> order;
  std::optional<MinSwap> min_swap;
  std::optional<std::uint64_t> checkpoints_per_block;
  std::optional<ActivationPlanner> planner;
  std::optional<KeepLast> keep_last;
  std::optional<PrefetchDistance> prefetch;
  std::optional<std::uint64_t> min_elements, store_workers, load_workers;
  std::optional<bool> forwarding;
  std::optional<CancelStores> cancel;
  std::optional<std::vector<SkippedLayer>> skip;
  std::optional<std::uint64_t> profile_step;
  std::optional<Or<BytesPerSecond, "measured">> write_rate;
  std::optional<Or<Seconds, "none">> time_limit;
  std::optional<std::uint64_t> node_limit;
  std::optional<double> gap;
};

/// Knobs of the cache of tensors.
template <class Io, class Part>
void tensor_cache_knobs(Io& io, Part& part) {
  const auto knob = [](const char* name, const char* words) {
    return Knob{name, words, "", "ssdtrain"};
  };
  io.optional(knob("keep_last", "tensors of the last module or layer stay on the GPU"),
              part.keep_last);
  io.optional(knob("prefetch",
                   "how far ahead backward asks for tensors: a module, a layer, or a number of "
                   "operators"),
              part.prefetch, {0, 100'000});
  io.optional(knob("min_elements", "smaller tensors stay on the GPU"), part.min_elements,
              {0, 1e12});
  io.optional(knob("store_workers", "stores at once of a rank"), part.store_workers, {1, 64});
  io.optional(knob("load_workers", "loads at once of a rank"), part.load_workers, {1, 64});
  io.optional(knob("forwarding", "what is still being stored is taken from memory"),
              part.forwarding);
  io.optional(knob("cancel", "when the queued write of a forwarded tensor is dropped"),
              part.cancel);
  io.optional(knob("skip", "layers that are no block and whose tensors stay"), part.skip);
  io.optional(
      knob("profile_step", "step whose module times the budget is planned from, counted from 0"),
      part.profile_step, {0, 1000});
  io.optional(
      knob("write_rate", "rate that the budget is planned with; measured: that of the stores"),
      part.write_rate);
}

template <class Io, class Part>
void activations_knobs(Io& io, Part& part) {
  io.alias({"policy",
            "saved tensors: keep on the GPU, offload to host memory or SSD and back a layer ahead, "
            "recompute from checkpoints there (checkpoint_gpu), in "
            "host memory or on SSD, swap what makes the step shortest, cache tensors on SSD, or "
            "follow a plan",
            "activation_checkpointing.cpu_checkpointing; the trainer's gradient checkpointing"},
           part.policy, "recompute", ActivationPolicy::checkpoint_gpu);
  io({"checkpoint_every",
      "of checkpoint policies: blocks that share a checkpoint, the input of their first; backward "
      "runs them again, all but the last one once more for the inputs of the others"},
     part.checkpoint_every, {1, 1000});
  io.automatic_or(
      {"swap_bytes", "how much of a micro-batch leaves the GPU; auto: planned; all: everything", "",
       "swap and tensor_cache"},
      part.swap_bytes, "all", all_bytes);
  io.texts({"homes", "where it goes, first place first"}, part.homes, {"host", "ssd"});
  io.optional({"offloaded",
               "operators whose saved tensors leave; everything that blocks save where nobody says "
               "more",
               "", "any with activations.policy offload"},
              part.offloaded);
  io.optional(
      {"order", "who is swapped first: by FLOPs saved a byte, or as in the model", "", "lohan"},
      part.order);
  io.optional(
      {"min_swap", "inter_block: inputs of blocks are swapped too; none: they stay on the GPU", "",
       "lohan"},
      part.min_swap);
  io.optional({"checkpoints_per_block",
               "2: the input of the feed-forward half is kept too, and half a block is computed "
               "again at a time",
               "", "lohan"},
              part.checkpoints_per_block, {1, 2});
  io.optional({"planner", "who gives each saved tensor its fate before the run", "",
               "any with activations.policy plan"},
              part.planner);
  tensor_cache_knobs(io, part);
  io.optional({"time_limit", "seconds for the integer program; a limit that is met does not repeat",
               "", "checkmate"},
              part.time_limit);
  io.optional({"node_limit", "nodes of the integer program's tree", "", "checkmate"},
              part.node_limit, {1, 1e9});
  io.optional(
      {"gap", "relative gap to the optimum at which the integer program stops", "", "checkmate"},
      part.gap, {0, 1});
}

}  // namespace spillway::description
