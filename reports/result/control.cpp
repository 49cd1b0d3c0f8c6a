#include "reports/result/control.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spillway::result {

namespace {

using nlohmann::json;
using P = Purpose;

// ---- On the GPU

constexpr Knob gpu_weights[] = {{"strategy.weights.home"},
                                {"strategy.weights.persistence_threshold"},
                                {"parallel.zero_stage"},
                                {"parallel.tensor"}};
constexpr Knob gathered_weights[] = {{"strategy.weights.prefetch_blocks"},
                                     {"strategy.weights.max_live"},
                                     {"strategy.weights.prefetch_bucket"}};
constexpr Knob gpu_gradients[] = {
    {"strategy.gradients.policy"}, {"strategy.gradients.convert"}, {"parallel.zero_stage"}};
constexpr Knob activations[] = {
    {"strategy.activations.policy"}, {"training.micro_batch"}, {"training.sequence"}};
constexpr Knob logits[] = {
    {"training.micro_batch"}, {"training.sequence"}, {"training.fused_kernels"}};
constexpr Knob workspace[] = {
    {"training.attention"}, {"training.micro_batch"}, {"training.sequence"}};
constexpr Knob context[] = {{"machine.gpu.context"}};
constexpr Knob reduce_buckets[] = {{"strategy.gradients.reduce_bucket"}};
constexpr Knob gpu_states[] = {{"strategy.optimizer.device"},
                               {"training.optimizer_state"},
                               {"parallel.zero_stage"},
                               {"training.ema"}};
constexpr Knob gpu_rounding[] = {{"strategy.gpu_allocator"}};

// ---- In host memory

constexpr std::string_view adaptive = "strategy.weights.pool=adaptive";
constexpr Knob parameter_pool[] = {{"strategy.weights.buffer_count", true, adaptive},
                                   {"strategy.weights.buffer_size", false, adaptive},
                                   {"strategy.weights.pool"},
                                   {"strategy.weights.prefetch_blocks"}};
constexpr Knob flat_weights[] = {{"strategy.weights.home"}, {"strategy.weights.max_in_host"}};
constexpr Knob flat_gradients[] = {
    {"strategy.gradients.policy"}, {"strategy.gradients.accumulation"}, {"parallel.zero_stage"}};
constexpr Knob accumulation[] = {{"strategy.gradients.accumulation"},
                                 {"training.gradient_accumulation"}};
constexpr Knob overflow_check[] = {{"strategy.overflow_check"},
                                   {"strategy.gradients.accumulation"}};
constexpr Knob swap_buffers[] = {{"strategy.optimizer.buffers", true},
                                 {"strategy.optimizer.subgroup"},
                                 {"strategy.optimizer.fused_tensors"}};
constexpr Knob host_states[] = {{"strategy.optimizer.home"},
                                {"strategy.optimizer.host_cache"},
                                {"training.optimizer_state"},
                                {"parallel.zero_stage"}};
constexpr Knob master_weights[] = {{"strategy.optimizer.home"},
                                   {"strategy.optimizer.host_cache"},
                                   {"training.precision"},
                                   {"parallel.zero_stage"}};
constexpr Knob optimizer_gradients[] = {{"strategy.optimizer.home"},
                                        {"strategy.optimizer.subgroup"},
                                        {"strategy.gradients.policy"},
                                        {"training.precision"}};
constexpr Knob staging_buffer[] = {{"strategy.gradients.staging_buffer"}};
constexpr Knob swap_out[] = {{"strategy.optimizer.subgroup"}, {"strategy.optimizer.fused_tensors"}};
constexpr Knob swapped[] = {{"strategy.activations.swap_bytes"}, {"training.micro_batch"}};
constexpr Knob activation_staging[] = {{"strategy.activations.policy"}, {"training.micro_batch"}};
constexpr Knob host_pool[] = {{"machine.host.memory"}, {"strategy.activations.homes"}};
constexpr Knob bounce_buffers[] = {
    {"strategy.gradients.d2h"}, {"strategy.gradients.convert"}, {"strategy.io_engine"}};
constexpr Knob pinned[] = {
    {"strategy.pinned"}, {"strategy.gradients.pinned"}, {"strategy.weights.pinned"}};
constexpr Knob init_copy[] = {{"strategy.gradients.init_copy"}};
constexpr Knob process_base[] = {{"machine.host.process_base"}, {"machine.host.process_base_next"}};
constexpr Knob runtime_base[] = {{"machine.host.runtime_base"}};

// ---- On storage

constexpr Knob ssd_states[] = {
    {"strategy.optimizer.home"}, {"strategy.optimizer.host_cache"}, {"training.optimizer_state"}};
constexpr Knob ssd_gradients[] = {{"strategy.gradients.policy"}};

constexpr Control all[] = {
    {"gpu", P::weights, gpu_weights, "ZeRO stage 3, or weights at home in host memory or on SSD"},
    {"gpu", P::gathered_weights, gathered_weights, "fewer blocks ahead, a limit on live ones"},
    {"gpu", P::gradients, gpu_gradients, "gradients that leave the GPU, widened by the CPU"},
    {"gpu", P::activations, activations, "checkpoints, a smaller micro-batch"},
    {"gpu", P::logits, logits, "a smaller micro-batch, fused kernels"},
    {"gpu", P::workspace, workspace, "flash attention, a smaller micro-batch"},
    {"gpu", P::context, context, "no setting: driver and libraries take it"},
    {"gpu", P::reduce_buckets, reduce_buckets, "smaller buckets, 0 for none"},
    {"gpu", P::optimizer_states, gpu_states, "ZeRO stage 1, an update on the CPU"},
    {"gpu", P::gpu_rounding, gpu_rounding, "the exact allocator"},

    {"host", P::parameter_pool, parameter_pool, "an adaptive pool, fewer buffers"},
    {"host", P::parameter_flat_buffer, flat_weights, "weights at home on SSD"},
    {"host", P::gradient_flat_buffer, flat_gradients, "fp16 sums, more ranks under ZeRO stage 2"},
    {"host", P::gradient_accumulation, accumulation, "fp16 sums, no accumulation"},
    {"host", P::overflow_check_temporaries, overflow_check, "the fused check"},
    {"host", P::optimizer_swap_buffers, swap_buffers, "fewer buffers, smaller sub-groups"},
    {"host", P::optimizer_states, host_states, "optimizer states at home on SSD, in bf16"},
    {"host", P::master_weights, master_weights, "optimizer states at home on SSD"},
    {"host", P::optimizer_gradient_buffers, optimizer_gradients,
     "optimizer states on SSD, smaller sub-groups"},
    {"host", P::pinned_gradient_buffer, staging_buffer, "no staging buffer"},
    {"host", P::swap_out_buffer, swap_out, "smaller sub-groups"},
    {"host", P::offloaded_checkpoints, activations, "checkpoints on the GPU or on SSD"},
    {"host", P::swapped_activations, swapped, "fewer bytes swapped, a home on SSD"},
    {"host", P::activation_staging, activation_staging, "a smaller micro-batch"},
    {"host", P::host_pool, host_pool, "another home for what it holds"},
    {"host", P::bounce_buffers, bounce_buffers, "pinned copies, widening on the GPU, GPUDirect"},
    {"host", P::allocator_cache, pinned, "the exact allocator: a caching one gives nothing back"},
    {"host", P::init_copy, init_copy, "pinning in place"},
    {"host", P::pinned_rounding, pinned, "the exact allocator"},
    {"host", P::process_base, process_base, "fewer ranks on a node"},
    {"host", P::runtime_base, runtime_base, "no setting"},

    {"ssd", P::weights, flat_weights, "weights at home elsewhere"},
    {"ssd", P::optimizer_states, ssd_states, "bf16 states, a cache in host memory"},
    {"ssd", P::gradients, ssd_gradients, "gradients in host memory"},
    {"ssd", P::activations, activations, "recomputation, a smaller micro-batch"},
};

/// The value at a dotted path, or null.
const json* at_path(const json& scenario, std::string_view path) {
  const json* at = &scenario;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const auto found = at->is_object() ? at->find(std::string(path.substr(0, dot))) : at->end();
    if (!at->is_object() || found == at->end()) return nullptr;
    at = &*found;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool silenced(const Knob& knob, const json& scenario) {
  const std::size_t equals = knob.not_with.find('=');
  if (equals == std::string_view::npos) return false;
  const json* other = at_path(scenario, knob.not_with.substr(0, equals));
  return other && text_of(*other) == knob.not_with.substr(equals + 1);
}

}  // namespace

std::span<const Control> controls() { return all; }

const Control* control_of(std::string_view tier, std::string_view purpose) {
  const Control* elsewhere = nullptr;
  for (const Control& control : all) {
    if (to_string(control.purpose) != purpose) continue;
    if (control.tier == tier) return &control;
    if (!elsewhere) elsewhere = &control;
  }
  return elsewhere;
}

std::string setting_of(std::string_view tier, std::string_view purpose, const json& scenario,
                       std::uint64_t count) {
  const Control* control = control_of(tier, purpose);
  if (!control) return "";
  std::string text;
  for (const Knob& knob : control->knobs) {
    const json* value = at_path(scenario, knob.path);
    if (!value || silenced(knob, scenario)) continue;
    const bool settled = knob.counts_buffers && *value == "auto";
    text += (text.empty() ? "" : ", ") + std::string(knob.path) + " = " +
            (settled ? std::to_string(count) + " (auto)" : text_of(*value));
  }
  return text;
}

}  // namespace spillway::result
