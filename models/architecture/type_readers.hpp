#pragma once

#include "models/architecture/architecture.hpp"
#include "models/architecture/config_keys.hpp"
#include "models/architecture/weight_names.hpp"

#include <optional>
#include <span>

namespace spillway::models {

/// How one `model_type` is read and how its weights are called.
struct TypeReader {
  const char* type;
  void (*read)(ConfigKeys&, Architecture&);
  WeightNames (*names)(const Architecture&);
};

// One table for each group of types, a file each.
std::span<const TypeReader> llama_readers();
std::span<const TypeReader> gemma_readers();
std::span<const TypeReader> expert_readers();
std::span<const TypeReader> latent_readers();
std::span<const TypeReader> hybrid_readers();
std::span<const TypeReader> recurrent_readers();
std::span<const TypeReader> gpt_readers();
std::span<const TypeReader> parallel_readers();
std::span<const TypeReader> remote_readers();
std::span<const TypeReader> encoder_readers();

std::vector<std::span<const TypeReader>> all_readers();
/// Null: no such type.
const TypeReader* reader_named(const std::string& type);

/// A type whose blocks cannot be described yet, and what they are.
struct RefusedType {
  std::string block;  ///< "state-space blocks"
  std::string key;    ///< where the file says so
};
/// By the type's name, or by a key that says that some block is no attention and that the type's
/// reader does not know.
std::optional<RefusedType> refused(const ConfigKeys& keys, const std::string& type);

// ---- For readers

/// Defaults of Hugging Face's configuration class of one rotary decoder type.
struct RotaryDefaults {
  std::uint64_t vocabulary, hidden, ffn, layers, heads;
  std::uint64_t kv_heads;  ///< 0: as many as heads
  std::uint64_t max_positions;
  double norm_epsilon = 1e-6;
  double rope_theta = 10000;
};

/// The keys that llama and its kin share.
void read_rotary(ConfigKeys& keys, Architecture& a, const RotaryDefaults& defaults);
Activation read_activation(ConfigKeys& keys, const char* key, const char* otherwise);
Activation activation_named(ConfigKeys& keys, const char* key, const std::string& name);
/// LayerNorm with bias, and biases of all block matrices if `biases`.
void use_layer_norm(Architecture& a, bool biases);
/// Elements of a head that rotate, from `partial_rotary_factor` or its other names.
void read_partial_rotary(ConfigKeys& keys, Architecture& a, double otherwise);
/// Makes Architecture::blocks, alike; false, with a complaint, if there are absurdly many.
bool make_blocks(ConfigKeys& keys, Architecture& a);
/// The latest tokens that a query sees; null in the file: 0, all; missing: `otherwise`.
std::uint64_t read_window(ConfigKeys& keys, const char* key, std::uint64_t otherwise);
/// Gives `window` to the blocks that `layer_types` calls sliding or chunked; without it to all but
/// every `pattern`-th (0: to all).
void read_windows(ConfigKeys& keys, Architecture& a, std::uint64_t window, std::uint64_t pattern);
/// Blocks with experts, where the first `dense` and those off the `step` have none.
void place_experts(ConfigKeys& keys, Architecture& a, std::uint64_t dense, std::uint64_t step);
/// Blocks with experts, but those named in `mlp_only_layers` and off `decoder_sparse_step`.
void place_qwen_experts(ConfigKeys& keys, Architecture& a);
void check_experts(ConfigKeys& keys, const Architecture& a, const char* used, const char* all);
/// Of types that divide a softmax of all by the sum of the chosen, or do not, as a key says.
RouterRule read_router_rule(ConfigKeys& keys);
/// Says that `count_key` prediction heads behind the last block are no part of what is trained.
void note_prediction_heads(ConfigKeys& keys, Architecture& a, const char* count_key);

WeightNames llama_names(const Architecture& architecture);
/// Llama's, and one shared expert (Qwen 2 to 3.5).
WeightNames qwen_moe_names(const Architecture& architecture);
/// Granite's, whose experts, and what all tokens use, have gate and up in one matrix.
WeightNames granite_moe_names(const Architecture& architecture);
/// Mixtral's: experts apart, as the checkpoints and transformers 4 have them, under
/// block_sparse_moe. with w1, w3 and w2; llama's where they are stacked.
WeightNames sparse_block_names(const Architecture& architecture);
/// GPT-2's names, which many took over: blocks transformer.h with attn, mlp, ln_1 and ln_2.
WeightNames gpt_names();
/// Megatron's names of a block: one matrix for query, key and value, dense, h_to_4h.
WeightNames megatron_names(const std::string& attention_prefix);

}  // namespace spillway::models
