#include "reports/glossary.hpp"

namespace spillway::reports {

namespace {

struct Term {
  std::string_view purpose, meaning;
};

constexpr Term terms[] = {
    {"weights", "the model's weights in the type that kernels compute with, or a rank's share"},
    {"gathered_weights", "weights that are on the GPU only while their layer needs them"},
    {"gradients", "gradients of weights, from the layer that makes them to the update or the copy"},
    {"activations", "results of forward that backward reads, and those being computed"},
    {"logits", "scores of every word of the vocabulary for every token, and their gradient"},
    {"workspace", "scratch memory of kernels such as attention that is not fused"},
    {"context", "what the CUDA context and its libraries take of a GPU"},
    {"reduce_buckets", "buffers in which gradients are collected before GPUs add them up"},
    {"optimizer_states", "the optimizer's momentum and variance, and the fp32 weights with them"},
    {"gpu_rounding", "what the GPU's allocator takes beyond the bytes asked for"},
    {"parameter_pool", "pinned buffers through which weights pass between drive and GPU"},
    {"parameter_flat_buffer", "one long buffer with all weights of a rank that lie in host memory"},
    {"gradient_flat_buffer", "one long buffer with the gradients of all weights of a rank"},
    {"gradient_accumulation", "sums of gradients over the micro-batches of a step"},
    {"overflow_check_temporaries", "copies that the search for infinities makes of gradients"},
    {"optimizer_swap_buffers", "buffers for the states of the sub-groups that are being updated"},
    {"master_weights", "weights in fp32, which the optimizer changes"},
    {"optimizer_gradient_buffers", "gradients in the type that the optimizer reads"},
    {"pinned_gradient_buffer", "the pinned buffer in which gradients of one copy arrive"},
    {"swap_out_buffer", "the buffer from which updated states are written to the drives"},
    {"offloaded_checkpoints", "inputs of blocks, kept in host memory for recomputation"},
    {"swapped_activations", "activations in host memory between forward and backward"},
    {"activation_staging", "pinned buffers through which activations pass to the drives"},
    {"host_pool", "tensors that the plan keeps in host memory while kernels do not need them"},
    {"bounce_buffers", "pinned buffers between GPU and pageable memory or drives"},
    {"allocator_cache", "pinned blocks that nobody uses and the allocator does not give back"},
    {"init_copy", "a second copy of a buffer while set-up pins it"},
    {"pinned_rounding", "what rounding to powers of two (pages where exact) adds to pinned memory"},
    {"process_base", "a training process itself: interpreter, libraries, context"},
    {"runtime_base", "what the framework takes once a node, whatever the number of processes"},
};

}  // namespace

std::string_view meaning_of(std::string_view tier, std::string_view purpose) {
  const bool stored = tier == "ssd" || tier == "remote";
  if (stored && purpose == "activations") return "activations between forward and backward";
  if (stored && purpose == "gradients") return "gradients until the optimizer reads them";
  for (const Term& term : terms)
    if (term.purpose == purpose) return term.meaning;
  return "";
}

}  // namespace spillway::reports
