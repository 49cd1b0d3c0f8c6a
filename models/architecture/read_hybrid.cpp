#include "models/architecture/type_readers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spillway::models {

// Types whose blocks differ from each other in more than windows and experts.

namespace {

void read_delta(ConfigKeys& keys, Architecture& a, std::uint64_t value_heads) {
  a.delta.key_heads = keys.count("linear_num_key_heads", 16);
  a.delta.value_heads = keys.count("linear_num_value_heads", value_heads);
  a.delta.key_dim = keys.count("linear_key_head_dim", 128);
  a.delta.value_dim = keys.count("linear_value_head_dim", 128);
  a.delta.kernel = keys.count("linear_conv_kernel_dim", 4);
  if (a.delta.value_heads % a.delta.key_heads != 0)
    keys.complain("linear_num_value_heads", std::to_string(a.delta.value_heads) +
                                                " do not divide by the " +
                                                std::to_string(a.delta.key_heads) + " of keys");
  if (!make_blocks(keys, a)) return;
  const std::vector<std::string> types = keys.words("layer_types");
  const std::uint64_t interval = keys.count("full_attention_interval", 4);
  if (!types.empty() && types.size() != a.blocks.size())
    return keys.complain("layer_types", std::to_string(types.size()) + " types for " +
                                            std::to_string(a.blocks.size()) + " layers");
  for (std::size_t i = 0; i < a.blocks.size(); ++i)
    if (types.empty() ? (i + 1) % interval != 0 : types[i] == "linear_attention")
      a.blocks[i].mixer = Mixer::delta_rule;
}

/// Qwen3-Next and what came of it: three blocks of four have linear attention, the fourth a gate.
void read_gated(ConfigKeys& keys, Architecture& a, const RotaryDefaults& defaults,
                std::uint64_t value_heads) {
  read_rotary(keys, a, defaults);
  a.head_dim = keys.count("head_dim", 256);
  a.wide_norms = true;
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.head_norm = HeadNorm::per_head;
  a.attention_gate = keys.flag("attn_output_gate", true);
  read_partial_rotary(keys, a, 0.25);
  read_delta(keys, a, value_heads);
  note_prediction_heads(keys, a, "mtp_num_hidden_layers");
}

void read_gated_experts(ConfigKeys& keys, Architecture& a, std::uint64_t experts,
                        std::uint64_t per_token) {
  a.experts = keys.count_or_zero("num_experts", experts);
  a.experts_per_token = keys.count("num_experts_per_tok", per_token);
  a.expert_ffn = keys.count("moe_intermediate_size", 512);
  a.shared_ffn = keys.count_or_zero("shared_expert_intermediate_size", 512);
  a.shared_gate = a.shared_ffn > 0;
  check_experts(keys, a, "num_experts_per_tok", "num_experts");
  place_qwen_experts(keys, a);
}

void read_qwen3_next(ConfigKeys& keys, Architecture& a) {
  read_gated(keys, a, {151936, 2048, 5632, 48, 16, 2, 32768}, 32);
  read_gated_experts(keys, a, 512, 10);
}

void read_qwen35(ConfigKeys& keys, Architecture& a) {
  read_gated(keys, a, {248320, 4096, 12288, 32, 16, 4, 32768}, 32);
}

void read_qwen35_moe(ConfigKeys& keys, Architecture& a) {
  read_gated(keys, a, {248320, 2048, 5632, 40, 16, 2, 32768}, 32);
  read_gated_experts(keys, a, 256, 8);
}

/// Whether entry `i` of a list of 0 and 1 is set; without the list `otherwise`.
bool set_in(const std::vector<std::uint64_t>& list, std::size_t i, bool otherwise) {
  return list.empty() ? otherwise : i < list.size() && list[i] != 0;
}

/// Sliding blocks have more key heads, and sinks.
void read_mimo_v2(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {152576, 4096, 16384, 48, 64, 4, 262144, 1e-5, 5e6});
  a.norm_epsilon = keys.positive("layernorm_epsilon", a.norm_epsilon);
  a.head_dim = keys.count("head_dim", 192);
  a.value_dim = keys.count("v_head_dim", 128);
  a.qkv_bias = keys.flag("attention_bias", false);
  read_partial_rotary(keys, a, 0.334);
  a.experts = keys.count_or_zero("n_routed_experts", 256);
  a.experts_per_token = keys.count("num_experts_per_tok", 8);
  a.expert_ffn = keys.count("moe_intermediate_size", 2048);
  a.shared_ffn = keys.count_or_zero("n_shared_experts", 0) * a.expert_ffn;
  check_experts(keys, a, "num_experts_per_tok", "n_routed_experts");
  BlockShape sliding;
  sliding.heads = keys.count("swa_num_attention_heads", a.heads);
  sliding.kv_heads = keys.count("swa_num_key_value_heads", 2 * a.kv_heads);
  sliding.head_dim = keys.count("swa_head_dim", a.head_dim);
  sliding.value_dim = keys.count("swa_v_head_dim", a.value_dim);
  const std::uint64_t window = read_window(keys, "sliding_window", 128);
  const bool sinks_there = keys.flag("add_swa_attention_sink_bias", true);
  const bool sinks_else = keys.flag("add_full_attention_sink_bias", false);
  a.attention_sinks = sinks_there || sinks_else;
  const std::vector<std::uint64_t> slides = keys.counts("hybrid_layer_pattern");
  const std::vector<std::uint64_t> routed = keys.counts("moe_layer_freq");
  if (!make_blocks(keys, a)) return;
  for (std::size_t i = 0; i < a.blocks.size(); ++i) {
    BlockTraits& block = a.blocks[i];
    block.experts = a.experts > 0 && set_in(routed, i, i > 0);
    const bool is_sliding = set_in(slides, i, i > 0 && (i + 1) % 6 != 0);
    block.sinks = is_sliding ? sinks_there : sinks_else;
    if (!is_sliding) continue;
    block.window = window;
    block.shape = sliding;
  }
}

/// Columns of a feed-forward that is `multiple` times as wide as the block, as gated ones are
/// counted: two thirds of it, in steps of 256.
std::uint64_t deci_columns(ConfigKeys& keys, double multiple, std::uint64_t hidden) {
  const double columns = std::floor(2 * multiple * static_cast<double>(hidden) / 3);
  if (!(columns > 0) || columns > std::numeric_limits<std::int32_t>::max()) {
    keys.complain("ffn_mult", "leaves no columns, or too many");
    return 0;
  }
  return (static_cast<std::uint64_t>(columns) + 255) / 256 * 256;
}

/// Whether a half is left out; one that is something else than attention or a feed-forward is
/// refused by the key that says so.
bool left_out(ConfigKeys& half) {
  for (const char* other : {"replace_with_linear", "num_sink_tokens", "sparsify"}) {
    const nlohmann::json& json = half.json();
    if (half.has(other) && json[other] != false)
      half.complain(other, "only attention, feed-forwards and nothing are read");
  }
  return half.flag("no_op", false);
}

BlockTraits deci_block(ConfigKeys& keys, const Architecture& a) {
  BlockTraits block;
  ConfigKeys attention = keys.inside("attention"), ffn = keys.inside("ffn");
  if (left_out(attention)) {
    block.mixer = Mixer::none;
  } else {
    const std::uint64_t group = attention.count("n_heads_in_group", 1);
    if (a.heads % group != 0)
      attention.complain("n_heads_in_group",
                         "does not divide the " + std::to_string(a.heads) + " heads");
    block.shape.kv_heads = std::max<std::uint64_t>(1, a.heads / group);
    block.window = attention.count_or_zero("window_length", 0);
  }
  block.feeds = !left_out(ffn);
  if (block.feeds) block.shape.ffn = deci_columns(ffn, ffn.positive("ffn_mult", 4), a.hidden);
  if (block.mixer == Mixer::none && !block.feeds)
    keys.complain("", "a block without attention and feed-forward cannot be described",
                  "leave it out and lower num_hidden_layers");
  keys.join(attention);
  keys.join(ffn);
  return block;
}

/// Blocks that a search has made of Llama's: each has its own width, key heads, or half missing.
void read_deci(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {128256, 8192, 28672, 80, 64, 8, 131072, 1e-5, 500000});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.ffn_bias = keys.flag("mlp_bias", false);
  const nlohmann::json& configs = keys.json().value("block_configs", nlohmann::json());
  if (!configs.is_array() || configs.size() != a.layers)
    return keys.complain("block_configs", "is no list of " + std::to_string(a.layers) + " blocks");
  if (!make_blocks(keys, a)) return;
  a.kv_heads = 1;
  a.ffn = 1;
  for (std::size_t i = 0; i < a.blocks.size(); ++i) {
    ConfigKeys own(configs[i], keys.file(), "block_configs[" + std::to_string(i) + "].");
    a.blocks[i] = deci_block(own, a);
    keys.join(own);
    a.kv_heads = std::max(a.kv_heads, a.blocks[i].shape.kv_heads);
    a.ffn = std::max(a.ffn, a.blocks[i].shape.ffn);
  }
}

/// One half a block, by a letter each (M - * E) or a word.
void place_nemotron_halves(ConfigKeys& keys, Architecture& a) {
  const std::string pattern = keys.text("hybrid_override_pattern", "");
  std::vector<std::string> kinds = keys.words("layers_block_type");
  const char* key = kinds.empty() ? "hybrid_override_pattern" : "layers_block_type";
  if (kinds.empty())
    for (const char letter : pattern)
      kinds.emplace_back(letter == 'M'   ? "mamba"
                         : letter == '*' ? "attention"
                         : letter == '-' ? "mlp"
                         : letter == 'E' ? "moe"
                                         : "");
  a.layers = keys.has("num_hidden_layers") ? keys.count("num_hidden_layers", 0) : kinds.size();
  if (kinds.size() != a.layers)
    return keys.complain(
        key, std::to_string(kinds.size()) + " kinds for " + std::to_string(a.layers) + " layers");
  a.blocks.clear();
  if (!make_blocks(keys, a)) return;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    BlockTraits& block = a.blocks[i];
    block.rotary = false;
    block.experts = kinds[i] == "moe";
    block.feeds = block.experts || kinds[i] == "mlp";
    block.mixer = block.feeds           ? Mixer::none
                  : kinds[i] == "mamba" ? Mixer::state_space
                                        : Mixer::attention;
    if (!block.feeds && kinds[i] != "mamba" && kinds[i] != "attention")
      return keys.complain(key, "a block \"" + kinds[i] + "\" cannot be described",
                           "mamba, attention, mlp and moe can");
    if (block.experts && a.experts == 0)
      return keys.complain("n_routed_experts", "no experts for the blocks that have them");
  }
}

void read_state_space(ConfigKeys& keys, Architecture& a) {
  StateSpace& s = a.state_space;
  s.heads = keys.count("mamba_num_heads", 128);
  s.head_dim = keys.count("mamba_head_dim", 64);
  s.groups = keys.count("n_groups", 8);
  s.state = keys.count("ssm_state_size", 128);
  s.kernel = keys.count("conv_kernel", 4);
  s.chunk = keys.count("chunk_size", 128);
  s.convolution_bias = keys.flag("use_conv_bias", true);
  s.bias = s.output_bias = keys.flag("use_bias", false);
  if (s.heads % s.groups != 0)
    keys.complain("n_groups", std::to_string(s.groups) + " does not divide the " +
                                  std::to_string(s.heads) + " heads");
}

/// State spaces, attention without positions and feed-forwards, one half a block.
void read_nemotron_h(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {131072, 4096, 21504, 52, 32, 8, 4096, 1e-5});
  a.head_dim = keys.count(keys.first_of({"head_dim", "attention_head_dim"}), 128);
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.ffn_bias = keys.flag("mlp_bias", false);
  a.gated_ffn = false;
  a.activation = read_activation(keys, "mlp_hidden_act", "relu2");
  a.norm_epsilon = keys.positive("layer_norm_epsilon", 1e-5);
  a.experts = keys.count_or_zero("n_routed_experts", 0);
  a.experts_per_token = a.experts == 0 ? 0 : keys.count("num_experts_per_tok", 2);
  a.expert_ffn = a.experts == 0 ? 0 : keys.count("moe_intermediate_size", 7688);
  a.shared_ffn = a.experts == 0 ? 0 : keys.count("moe_shared_expert_intermediate_size", 7688);
  a.expert_latent = a.experts == 0 ? 0 : keys.count_or_zero("moe_latent_size", 0);
  check_experts(keys, a, "num_experts_per_tok", "n_routed_experts");
  read_state_space(keys, a);
  place_nemotron_halves(keys, a);
  note_prediction_heads(keys, a, "num_nextn_predict_layers");
}

WeightNames nemotron_h_names(const Architecture&) {
  WeightNames n;
  n.tokens = "backbone.embeddings.weight";
  n.block_prefix = "backbone.layers.";
  n.attention_prefix = n.state_space_prefix = "mixer.";
  n.feed_forward_prefix = n.experts.prefix = "mixer.";
  n.qkv = {
      {"q_proj", WeightKind::query}, {"k_proj", WeightKind::key}, {"v_proj", WeightKind::value}};
  n.attention_output = "o_proj";
  n.up = "up_proj";
  n.down = "down_proj";
  n.norm_1 = n.norm_2 = "norm";
  n.norm_place = NormPlace::first;
  n.final_norm = "backbone.norm_f";
  return n;
}

WeightNames qwen35_names(const Architecture& a) {
  WeightNames n = qwen_moe_names(a);
  n.delta_in_parts = true;
  n.experts.gate.clear();
  n.experts.up = "gate_up_proj";
  n.experts.stacked = true;
  return n;
}

WeightNames mimo_v2_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  n.sinks = "attention_sink_bias";
  return n;
}

constexpr TypeReader hybrid_types[] = {
    {"qwen3_next", read_qwen3_next, qwen_moe_names},
    {"qwen3_5_text", read_qwen35, qwen35_names},
    {"qwen3_5_moe_text", read_qwen35_moe, qwen35_names},
    {"mimo_v2_flash", read_mimo_v2, mimo_v2_names},
    {"nemotron-nas", read_deci, llama_names},
    {"nemotron_h", read_nemotron_h, nemotron_h_names},
};

}  // namespace

std::span<const TypeReader> hybrid_readers() { return hybrid_types; }

}  // namespace spillway::models
