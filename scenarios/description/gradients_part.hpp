#pragma once

#include "scenarios/description/knob.hpp"
#include "scenarios/description/names.hpp"
#include "scenarios/description/units.hpp"
#include "scenarios/description/weights_part.hpp"

#include <optional>

namespace spillway::description {

enum class GradientPolicy {
  resident,
  host_fp16,
  host_fp32,
  ssd_fp16,
  ssd_fp32,
  active_naive,
  active
};
template <>
inline constexpr auto names_of<GradientPolicy> = in_order("resident", "host_fp16", "host_fp32",
                                                          "ssd_fp16", "ssd_fp32", "active_naive",
                                                          "active");
/// Gradients wait for the update on storage, beside the states.
constexpr bool lie_on_storage(GradientPolicy policy) {
  return policy == GradientPolicy::ssd_fp16 || policy == GradientPolicy::ssd_fp32;
}
/// Sub-groups are updated while backward goes on, not after it.
constexpr bool updates_in_backward(GradientPolicy policy) {
  return policy == GradientPolicy::active || policy == GradientPolicy::active_naive;
}
/// Pinned buffers through which a sub-group on SSD is updated: master, momentum and variance, and
/// its gradient where that lies on SSD too.
constexpr std::uint64_t buffers_of_a_set(GradientPolicy policy) {
  return lie_on_storage(policy) ? 4 : 3;
}
enum class Width { fp16, fp32 };  ///< element type of a host gradient buffer
template <>
inline constexpr auto names_of<Width> = in_order("fp16", "fp32");
enum class ConvertOn { gpu, cpu };
template <>
inline constexpr auto names_of<ConvertOn> = in_order("gpu", "cpu");
/// Where a copy of gradients lands.
///   typed  as PyTorch's copy_ between devices that changes type and blocks: memory made for it
///          and not pinned, whose values are then converted into where they belong
enum class CopyMemory { pinned, pageable, typed };
template <>
inline constexpr auto names_of<CopyMemory> = in_order("pinned", "pageable", "typed");
enum class Landing { flat, states };
template <>
inline constexpr auto names_of<Landing> = in_order("flat", "states");

/// What norms of gradients on the GPU read.
///   in_place  the gradients themselves
///   fp64      copies of them in fp64, which need memory of their own
enum class GradientNorm { in_place, fp64 };
template <>
inline constexpr auto names_of<GradientNorm> = in_order("in_place", "fp64");

/// When gradients that stay on the GPU get their memory.
///   at_start     one buffer, which stays between steps
///   in_backward  each when backward comes to its layer; all are given up after the update
enum class GradientMemory { at_start, in_backward };
template <>
inline constexpr auto names_of<GradientMemory> = in_order("at_start", "in_backward");
/// How ranks that train on different samples add up a gradient that each of them computed whole.
enum class GradientCollective { all_reduce, reduce_scatter };
template <>
inline constexpr auto names_of<GradientCollective> = in_order("all_reduce", "reduce_scatter");

/// When ranks add up gradients that stay on the GPU until the step's update.
///   by_layer  of the last micro-batch each layer's, beside the rest of backward
///   at_end    all of them once backward is through
enum class GradientSums { by_layer, at_end };
template <>
inline constexpr auto names_of<GradientSums> = in_order("by_layer", "at_end");

/// Where gradients go, and in which type. An empty optional is "auto".
struct GradientsPart {
  GradientPolicy policy = GradientPolicy::resident;
  Width accumulation = Width::fp32;
  ConvertOn convert = ConvertOn::gpu;
  CopyMemory d2h = CopyMemory::pinned;
  bool overlap = true;
  Bytes flush_tail;
  std::optional<PinnedPolicy> pinned;
  bool staging_buffer = false;
  std::uint64_t slabs = 0;
  bool fused_accumulation = true;
  bool main_gradients = false;
  GradientMemory memory = GradientMemory::at_start;
  bool init_copy = false;
  std::optional<Landing> lands;
  std::optional<GradientCollective> collective;
  Params reduce_bucket = Params(500'000'000);
  GradientNorm norm = GradientNorm::in_place;
  std::optional<GradientSums> sums;
};

/// Those of what is done with all gradients on the GPU, and of how ranks add them up.
template <class Io, class Part>
void knobs_of_gradient_sums(Io& io, Part& part) {
  io.automatic(
      {"collective",
       "how ranks add up gradients: all_reduce, which sends them twice, or reduce_scatter, each to "
       "the rank that updates it; auto: all_reduce for ZeRO-0 and 1, reduce_scatter for 2 and 3",
       "zero_optimization.reduce_scatter"},
      part.collective);
  io({"norm",
      "what norms of gradients on the GPU read: in_place, the gradients; or fp64, as DeepSpeed's, "
      "copies of 8 bytes an element: of a whole tensor where gradients land in states or stay on "
      "the GPU, of 250,000,000 elements at once where they come up from the flat buffer. Where "
      "they land in states its search for infinities copies too, 11 bytes an element of 16 bits"},
     part.norm);
  io({"reduce_bucket", "elements of a bucket that is reduced at once",
      "zero_optimization.reduce_bucket_size"},
     part.reduce_bucket);
  io.automatic(
      {"sums",
       "when ranks add up gradients that stay on the GPU: by_layer, beside the last backward "
       "(PyTorch's DDP, Megatron-LM's --overlap-grad-reduce), or at_end, when it is through; auto: "
       "at_end with main_gradients of ZeRO-0 and 1"},
      part.sums);
}

template <class Io, class Part>
void gradients_knobs(Io& io, Part& part) {
  io({"policy",
      "where gradients go: stay, a 16-bit or fp32 buffer of the host, SSD in either type; active: "
      "each sub-group is updated during backward, as its gradients come"},
     part.policy);
  io({"accumulation", "type of the flat gradient buffer in host memory",
      "data_types.grad_accum_dtype"},
     part.accumulation);
  io({"convert",
      "who widens gradients to fp32: the GPU, which sends 4 bytes, or the CPU, which is sent 2"},
     part.convert);
  io({"d2h",
      "gradients go through pinned memory at pcie.d2h, or through pageable memory at "
      "pcie.pageable_d2h; typed: each by a copy that changes type and blocks, into memory whose "
      "pages are new (host.first_touch), and is converted there",
      "zero_optimization.offload_optimizer.pin_memory"},
     part.d2h);
  io({"overlap", "false: the next layer waits until this one's gradients are where they belong",
      "zero_optimization.overlap_comm"},
     part.overlap);
  io({"flush_tail", "bytes a rank may still be writing when backward ends"}, part.flush_tail);
  io.automatic({"pinned", "rounding of the flat gradient buffer; auto: strategy.pinned"},
               part.pinned);
  io({"staging_buffer", "an fp32 staging buffer of the largest share"}, part.staging_buffer);
  io({"slabs",
      "pinned buffers of the largest block's gradients, and one of each other layer's: a layer's "
      "gradients come down into one, and the CPU adds them to where they are kept; 0: a tensor has "
      "a buffer where it needs one"},
     part.slabs, {0, 10'000});
  io({"fused_accumulation",
      "kernels add a micro-batch to gradients that stay on the GPU; false: to a tensor of its own, "
      "added afterwards. Where those are wider (accumulation fp32) products add to them, and the "
      "GPU keeps a tensor without values for each kind of matrix, as Transformer Engine does"},
     part.fused_accumulation);
  io({"main_gradients",
      "gradients that stay on the GPU are added to those of type gradients.accumulation with one "
      "micro-batch too: Megatron-LM's main_grad, DeepSpeed's BF16_Optimizer"},
     part.main_gradients);
  io({"memory",
      "gradients that stay on the GPU: at_start, one buffer that stays between steps (Megatron-LM, "
      "ZeRO-3), or in_backward, each from when backward comes to its layer until the update "
      "(PyTorch's zero_grad with set_to_none)"},
     part.memory);
  io({"init_copy", "a pageable copy of the flat buffer while it is made"}, part.init_copy);
  io.automatic({"lands",
                "where offloaded gradients come down: flat, one buffer that they leave again for "
                "their norm (ZeRO-3), or states, straight to the optimizer's fp32 gradients "
                "(ZeRO-1 and 2); auto: states for ZeRO-1 and 2 with weights on the GPU"},
               part.lands);
  knobs_of_gradient_sums(io, part);
}

}  // namespace spillway::description
