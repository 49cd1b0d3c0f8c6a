#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace spillway::result {

/// What a buffer is for: the keys of `peak_bytes.<tier>.by_purpose`. One list for all machines and
/// systems.
enum class Purpose : unsigned char {
  // GPU
  weights,
  gathered_weights,
  gradients,
  activations,
  logits,
  workspace,
  context,
  reduce_buckets,
  optimizer_states,
  gpu_rounding,
  // host
  parameter_pool,
  parameter_flat_buffer,
  gradient_flat_buffer,
  gradient_accumulation,
  overflow_check_temporaries,
  optimizer_swap_buffers,
  master_weights,
  optimizer_gradient_buffers,
  pinned_gradient_buffer,
  swap_out_buffer,
  offloaded_checkpoints,
  swapped_activations,
  activation_staging,
  host_pool,
  bounce_buffers,
  allocator_cache,
  init_copy,
  pinned_rounding,
  process_base,
  runtime_base,
};
inline constexpr std::size_t purpose_count = static_cast<std::size_t>(Purpose::runtime_base) + 1;

/// The key as results print it.
std::string_view to_string(Purpose purpose);

/// A phase of one training step, or the set-up before the first.
enum class Phase : unsigned char { init, forward, backward, overflow_check, update };
inline constexpr std::size_t phase_count = 5;
std::string_view to_string(Phase phase);
std::optional<Phase> phase_named(std::string_view name);

}  // namespace spillway::result
