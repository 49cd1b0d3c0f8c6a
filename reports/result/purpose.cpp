#include "reports/result/purpose.hpp"

#include <stdexcept>

namespace spillway::result {

namespace {

using P = Purpose;
using L = Lifetime;

// ---- Of states that GPU and CPU share (optimizer.cpu_share): those in host memory

constexpr Knob share_on_cpu = {"strategy.optimizer.cpu_share", false,
                               "strategy.optimizer.home=ssd"};
constexpr Knob share_on_gpu = {"strategy.optimizer.cpu_share", false,
                               "strategy.optimizer.device=gpu"};

constexpr std::string_view never_taken_back = "strategy.optimizer.roll_back=false";
constexpr Knob roll_back = {"strategy.optimizer.roll_back", false, never_taken_back};

// ---- On the GPU

constexpr Knob gpu_weights[] = {{"strategy.weights.home"},
                                {"strategy.weights.persistence_threshold"},
                                {"parallel.zero_stage"},
                                {"parallel.tensor"}};
constexpr Knob gathered_weights[] = {{"strategy.weights.prefetch_blocks"},
                                     {"strategy.weights.max_live"},
                                     {"strategy.weights.prefetch_bucket"}};
constexpr Knob gpu_gradients[] = {{"strategy.gradients.policy"},
                                  {"strategy.gradients.convert"},
                                  share_on_gpu,
                                  {"parallel.zero_stage"}};
constexpr Knob activations[] = {
    {"strategy.activations.policy"}, {"training.micro_batch"}, {"training.sequence"}};
constexpr Knob logits[] = {{"training.loss"}, {"training.micro_batch"}, {"training.sequence"}};
constexpr Knob workspace[] = {
    {"training.loss"}, {"training.attention"}, {"training.micro_batch"}, {"training.sequence"}};
constexpr Knob context[] = {{"machine.gpu.context"}};
constexpr Knob reduce_buckets[] = {{"strategy.gradients.reduce_bucket"}};
constexpr Knob gpu_states[] = {{"strategy.optimizer.device"},
                               share_on_gpu,
                               {"training.optimizer_state"},
                               {"parallel.zero_stage"},
                               {"training.ema"}};
constexpr Knob weight_copies[] = {{"training.precision"}, {"parallel.tensor"}};
constexpr Knob norm_copies[] = {{"strategy.gradients.norm"}, {"parallel.zero_stage"}};
constexpr Knob gpu_rounding[] = {{"strategy.gpu_allocator"}};

// ---- In host memory

constexpr std::string_view adaptive = "strategy.weights.pool=adaptive";
constexpr Knob parameter_pool[] = {{"strategy.weights.buffer_count", true, adaptive},
                                   {"strategy.weights.buffer_size", false, adaptive},
                                   {"strategy.weights.pool"},
                                   {"strategy.weights.prefetch_blocks"}};
constexpr Knob flat_weights[] = {{"strategy.weights.home"}, {"strategy.weights.max_in_host"}};
constexpr Knob flat_gradients[] = {{"strategy.gradients.policy"},
                                   roll_back,
                                   {"strategy.gradients.accumulation"},
                                   share_on_cpu,
                                   {"parallel.zero_stage"}};
constexpr Knob accumulation[] = {{"strategy.gradients.accumulation"},
                                 {"training.gradient_accumulation"}};
constexpr Knob overflow_check[] = {{"strategy.overflow_check"},
                                   {"strategy.gradients.accumulation"}};
constexpr Knob swap_buffers[] = {{"strategy.optimizer.buffers", true},
                                 {"strategy.optimizer.subgroup"},
                                 {"strategy.optimizer.fused_tensors"}};
constexpr Knob host_states[] = {{"strategy.optimizer.home"},
                                {"strategy.optimizer.host_cache"},
                                {"strategy.overflow_check", false, never_taken_back},
                                share_on_cpu,
                                {"training.optimizer_state"},
                                {"parallel.zero_stage"}};
constexpr Knob master_weights[] = {{"strategy.optimizer.home"},
                                   {"strategy.optimizer.host_cache"},
                                   share_on_cpu,
                                   {"training.precision"},
                                   {"parallel.zero_stage"}};
constexpr Knob optimizer_gradients[] = {{"strategy.optimizer.home"},
                                        {"strategy.optimizer.subgroup"},
                                        {"strategy.gradients.policy"},
                                        roll_back,
                                        share_on_cpu,
                                        {"training.precision"}};
constexpr Knob staging_buffer[] = {{"strategy.gradients.staging_buffer"},
                                   {"strategy.gradients.slabs"}};
constexpr Knob swap_out[] = {{"strategy.optimizer.subgroup"}, {"strategy.optimizer.fused_tensors"}};
constexpr Knob swapped[] = {{"strategy.activations.swap_bytes"}, {"training.micro_batch"}};
constexpr Knob activation_staging[] = {{"strategy.activations.policy"}, {"training.micro_batch"}};
constexpr Knob host_pool[] = {{"machine.host.memory"}, {"strategy.activations.homes"}};
constexpr Knob bounce_buffers[] = {
    {"strategy.gradients.d2h"}, {"strategy.gradients.convert"}, {"strategy.io_engine"}};
constexpr Knob pinned[] = {
    {"strategy.pinned"}, {"strategy.gradients.pinned"}, {"strategy.weights.pinned"}};
constexpr Knob left_pinned[] = {{"strategy.pinned"},
                                {"strategy.gradients.d2h", false, never_taken_back}};
constexpr Knob experts_on_cpu[] = {{"training.precision"}};
constexpr Knob works_on_cpu[] = {{"training.micro_batch"}};
constexpr Knob init_copy[] = {{"strategy.gradients.init_copy"}};
constexpr Knob process_base[] = {{"machine.host.process_base"}, {"machine.host.process_base_next"}};
constexpr Knob runtime_base[] = {{"machine.host.runtime_base"}};

// ---- On storage

constexpr Knob ssd_states[] = {
    {"strategy.optimizer.home"}, {"strategy.optimizer.host_cache"}, {"training.optimizer_state"}};
constexpr Knob ssd_gradients[] = {{"strategy.gradients.policy"}};

constexpr PurposeRow rows[] = {
    {"gpu", P::weights, "weights",
     "the model's weights in the type that kernels compute with, or a rank's share", L::permanent,
     gpu_weights, "weights at home in host memory or on SSD"},
    {"gpu", P::gathered_weights, "gathered_weights",
     "weights that are on the GPU only while their layer needs them", L::moment, gathered_weights,
     "fewer blocks ahead, a limit on live ones"},
    {"gpu", P::gradients, "gradients",
     "gradients of weights, from the layer that makes them to the update or the copy", L::moment,
     gpu_gradients, "gradients that leave the GPU, widened by the CPU"},
    {"gpu", P::activations, "activations",
     "results of forward that backward reads, and those being computed", L::pass, activations,
     "checkpoints, a smaller micro-batch"},
    {"gpu", P::logits, "logits",
     "scores of every word of the vocabulary for every token, and their gradient", L::pass, logits,
     "a fused or chunked loss, a smaller micro-batch"},
    {"gpu", P::workspace, "workspace",
     "scratch memory of kernels such as a plain loss, or attention that is not fused", L::pass,
     workspace, "a fused or chunked loss, flash attention, a smaller micro-batch"},
    {"gpu", P::context, "context", "what the CUDA context and its libraries take of a GPU",
     L::permanent, context, "no setting: driver and libraries take it"},
    {"gpu", P::reduce_buckets, "reduce_buckets",
     "buffers in which gradients are collected before GPUs add them up", L::permanent,
     reduce_buckets, "smaller buckets, 0 for none"},
    {"gpu", P::optimizer_states, "optimizer_states",
     "the optimizer's momentum and variance, and the fp32 weights with them", L::permanent,
     gpu_states, "an update on the CPU, of all of them or of a larger share"},
    {"gpu", P::weight_copies, "weight_copies",
     "8-bit copies of weights, transposed ones too, with scales and the latest maxima",
     L::permanent, weight_copies, "copies made for each use (training.fp8.weight_copies), bf16"},
    {"gpu", P::norm_copies, "norm_copies",
     "copies of a gradient that its norm, and the search for infinities, are taken of", L::moment,
     norm_copies, "norms in place"},
    {"gpu", P::gpu_rounding, "gpu_rounding",
     "what the GPU's allocator takes beyond the bytes asked for", L::moment, gpu_rounding,
     "the exact allocator"},

    {"host", P::parameter_pool, "parameter_pool",
     "pinned buffers through which weights pass between drive and GPU", L::permanent,
     parameter_pool, "an adaptive pool, fewer buffers"},
    {"host", P::parameter_flat_buffer, "parameter_flat_buffer",
     "one long buffer with all weights of a rank that lie in host memory", L::permanent,
     flat_weights, "weights at home on SSD"},
    {"host", P::weights, "weights", "routed experts by which the CPU multiplies, once a node",
     L::permanent, experts_on_cpu, "experts in fewer bits (training.lora.base), or on SSD"},
    {"host", P::workspace, "workspace",
     "copies of tokens and gradients that the CPU works on when it multiplies by experts",
     L::permanent, works_on_cpu, "a smaller micro-batch"},
    {"host", P::gradient_flat_buffer, "gradient_flat_buffer",
     "one long buffer with the gradients of all weights of a rank", L::permanent, flat_gradients,
     "fp16 sums, more ranks under ZeRO stage 2, a share of the update on the GPU"},
    {"host", P::gradient_accumulation, "gradient_accumulation",
     "sums of gradients over the micro-batches of a step", L::permanent, accumulation,
     "fp16 sums, no accumulation"},
    {"host", P::overflow_check_temporaries, "overflow_check_temporaries",
     "copies that the search for infinities makes of gradients", L::moment, overflow_check,
     "the fused check"},
    {"host", P::optimizer_swap_buffers, "optimizer_swap_buffers",
     "buffers for the states of the sub-groups that are being updated", L::permanent, swap_buffers,
     "fewer buffers, smaller sub-groups"},
    {"host", P::optimizer_states, "optimizer_states",
     "the optimizer's momentum and variance, and the fp32 weights with them", L::permanent,
     host_states, "optimizer states at home on SSD, in bf16, a share of them on the GPU"},
    {"host", P::master_weights, "master_weights", "weights in fp32, which the optimizer changes",
     L::permanent, master_weights, "optimizer states at home on SSD, a share of them on the GPU"},
    {"host", P::optimizer_gradient_buffers, "optimizer_gradient_buffers",
     "gradients in the type that the optimizer reads", L::moment, optimizer_gradients,
     "optimizer states on SSD, smaller sub-groups"},
    {"host", P::pinned_gradient_buffer, "pinned_gradient_buffer",
     "the pinned buffer in which gradients of one copy arrive, or slabs of a layer's", L::permanent,
     staging_buffer, "no staging buffer, fewer slabs"},
    {"host", P::swap_out_buffer, "swap_out_buffer",
     "the buffer from which updated states are written to the drives", L::permanent, swap_out,
     "smaller sub-groups"},
    {"host", P::offloaded_checkpoints, "offloaded_checkpoints",
     "inputs of blocks, kept in host memory for recomputation", L::pass, activations,
     "checkpoints on the GPU or on SSD"},
    {"host", P::swapped_activations, "swapped_activations",
     "activations in host memory between forward and backward", L::pass, swapped,
     "fewer bytes swapped, a home on SSD"},
    {"host", P::activation_staging, "activation_staging",
     "pinned buffers through which activations pass to the drives", L::permanent,
     activation_staging, "a smaller micro-batch"},
    {"host", P::host_pool, "host_pool",
     "tensors that the plan keeps in host memory while kernels do not need them", L::moment,
     host_pool, "another home for what it holds"},
    {"host", P::bounce_buffers, "bounce_buffers",
     "pinned buffers between GPU and pageable memory or drives", L::moment, bounce_buffers,
     "pinned copies, widening on the GPU, GPUDirect"},
    {"host", P::allocator_cache, "allocator_cache",
     "pinned blocks that nobody uses and the allocator does not give back", L::permanent,
     left_pinned,
     "the exact allocator: a caching one gives nothing back; gradients in memory that is not "
     "pinned"},
    {"host", P::init_copy, "init_copy",
     "a second copy of a buffer while set-up pins it, or the whole fp32 weights that chunks are "
     "made of",
     L::moment, init_copy, "pinning in place; chunks are made of whole weights in any case"},
    {"host", P::pinned_rounding, "pinned_rounding",
     "what rounding to powers of two (pages where exact) adds to pinned memory", L::moment, pinned,
     "the exact allocator"},
    {"host", P::process_base, "process_base",
     "a training process itself: interpreter, libraries, context", L::permanent, process_base,
     "fewer ranks on a node"},
    {"host", P::runtime_base, "runtime_base",
     "what the framework takes once a node, whatever the number of processes", L::permanent,
     runtime_base, "no setting"},

    {"ssd", P::weights, "weights",
     "the model's weights in the type that kernels compute with, or a rank's share", L::permanent,
     flat_weights, "weights at home elsewhere"},
    {"ssd", P::optimizer_states, "optimizer_states",
     "the optimizer's momentum and variance, and the fp32 weights with them", L::permanent,
     ssd_states, "bf16 states, a smaller optimizer.ssd_share"},
    {"ssd", P::gradients, "gradients", "gradients until the optimizer reads them", L::permanent,
     ssd_gradients, "gradients in host memory"},
    {"ssd", P::activations, "activations", "activations between forward and backward", L::pass,
     activations, "recomputation, a smaller micro-batch"},
};

/// By purpose. Does not compile where a purpose has no row, or two names.
constexpr auto purpose_names = [] {
  std::array<std::string_view, purpose_count> names{};
  for (const PurposeRow& row : rows) {
    std::string_view& name = names[static_cast<std::size_t>(row.purpose)];
    if (!name.empty() && name != row.name) throw std::logic_error("a purpose of two names");
    name = row.name;
  }
  for (const std::string_view name : names)
    if (name.empty()) throw std::logic_error("a purpose without a row");
  return names;
}();

constexpr std::array<std::string_view, 3> lifetime_names = {"permanent", "pass", "moment"};
constexpr std::array<std::string_view, phase_count> phase_names = {"init", "forward", "backward",
                                                                   "overflow_check", "update"};
}  // namespace

std::span<const PurposeRow> purpose_rows() { return rows; }

const PurposeRow* row_of(std::string_view tier, std::string_view purpose) {
  const PurposeRow* elsewhere = nullptr;
  for (const PurposeRow& row : rows) {
    if (row.name != purpose) continue;
    if (row.tier == tier) return &row;
    if (!elsewhere) elsewhere = &row;
  }
  return elsewhere;
}

std::string_view meaning_of(std::string_view tier, std::string_view purpose) {
  const PurposeRow* row = row_of(tier == "remote" ? "ssd" : tier, purpose);
  return row ? row->meaning : "";
}

std::string_view to_string(Purpose purpose) {
  return purpose_names[static_cast<std::size_t>(purpose)];
}

std::string_view to_string(Lifetime lifetime) {
  return lifetime_names[static_cast<std::size_t>(lifetime)];
}

std::string_view to_string(Phase phase) { return phase_names[static_cast<std::size_t>(phase)]; }

std::optional<Phase> phase_named(std::string_view name) {
  for (std::size_t i = 0; i < phase_count; ++i)
    if (phase_names[i] == name) return static_cast<Phase>(i);
  return std::nullopt;
}

}  // namespace spillway::result
