#include "reports/result/purpose.hpp"

namespace spillway::result {

namespace {
constexpr std::array<std::string_view, purpose_count> purpose_names = {
    "weights",
    "gathered_weights",
    "gradients",
    "activations",
    "logits",
    "workspace",
    "context",
    "reduce_buckets",
    "optimizer_states",
    "gpu_rounding",
    "parameter_pool",
    "parameter_flat_buffer",
    "gradient_flat_buffer",
    "gradient_accumulation",
    "overflow_check_temporaries",
    "optimizer_swap_buffers",
    "master_weights",
    "optimizer_gradient_buffers",
    "pinned_gradient_buffer",
    "swap_out_buffer",
    "offloaded_checkpoints",
    "swapped_activations",
    "activation_staging",
    "host_pool",
    "bounce_buffers",
    "allocator_cache",
    "init_copy",
    "pinned_rounding",
    "process_base",
    "runtime_base",
};
constexpr std::array<std::string_view, phase_count> phase_names = {"init", "forward", "backward",
                                                                   "overflow_check", "update"};
}  // namespace

std::string_view to_string(Purpose purpose) {
  return purpose_names[static_cast<std::size_t>(purpose)];
}

std::string_view to_string(Phase phase) { return phase_names[static_cast<std::size_t>(phase)]; }

std::optional<Phase> phase_named(std::string_view name) {
  for (std::size_t i = 0; i < phase_count; ++i)
    if (phase_names[i] == name) return static_cast<Phase>(i);
  return std::nullopt;
}

}  // namespace spillway::result
