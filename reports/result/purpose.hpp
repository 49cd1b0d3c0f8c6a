#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
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
  weight_copies,
  norm_copies,
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

/// How long a buffer is held.
///   permanent  from its making to the end of the run
///   pass       within one pass of a step, in the order of its layers
///   moment     while few operations need it
enum class Lifetime : unsigned char { permanent, pass, moment };
std::string_view to_string(Lifetime lifetime);

/// A scenario path that decides how large buffers are.
struct Knob {
  std::string_view path;
  /// An "auto" in the scenario is settled as the number of equal buffers of a rank.
  bool counts_buffers = false;
  /// Written "path=value": has no say while that path has that value.
  std::string_view not_with = {};
};

/// All that is known of the buffers of one purpose on one tier: whoever allocates one says so by
/// naming the purpose.
struct PurposeRow {
  std::string_view tier;  ///< gpu host ssd
  Purpose purpose;
  std::string_view name;        ///< the key as results print it
  std::string_view meaning;     ///< what they are, in one sentence without the name
  Lifetime lifetime;            ///< of what systems hold that do not plan tensor by tensor
  std::span<const Knob> knobs;  ///< what decides how much of the tier they take, most direct first
  std::string_view smaller;     ///< how they get smaller, in a few words for people
};

/// The one list of them: every purpose has a row on each tier on which systems use it.
std::span<const PurposeRow> purpose_rows();

/// Of a purpose as results name it; on another tier where it has none on this one, else null.
const PurposeRow* row_of(std::string_view tier, std::string_view purpose);

/// What a purpose of `peak_bytes.<tier>.by_purpose` is; "" of one that the program does not know.
///   tier  gpu, host, ssd or remote: some purposes are in memory and on drives
std::string_view meaning_of(std::string_view tier, std::string_view purpose);

/// The key as results print it.
std::string_view to_string(Purpose purpose);

/// A phase of one training step, or the set-up before the first.
enum class Phase : unsigned char { init, forward, backward, overflow_check, update };
inline constexpr std::size_t phase_count = 5;
std::string_view to_string(Phase phase);
std::optional<Phase> phase_named(std::string_view name);

}  // namespace spillway::result
