#include "models/architecture/type_readers.hpp"

namespace spillway::models {

namespace {

/// What all Gemmas share: wide heads, GEGLU, a tied head.
void read_common(ConfigKeys& keys, Architecture& a, const RotaryDefaults& defaults) {
  read_rotary(keys, a, defaults);
  a.head_dim = keys.count("head_dim", 256);
  a.wide_norms = true;
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  // Files of the first Gemma say "gelu" in hidden_act and mean the tanh form.
  a.activation = read_activation(keys, "hidden_activation", "gelu_pytorch_tanh");
}

void read_gemma(ConfigKeys& keys, Architecture& a) {
  read_common(keys, a, {256000, 3072, 24576, 28, 16, 16, 8192});
}

/// Caps scores and logits; null in the file: no; missing: `otherwise`.
void read_softcaps(ConfigKeys& keys, Architecture& a, bool otherwise) {
  const auto caps = [&](const char* key) {
    if (!keys.has(key)) return otherwise && !keys.json().contains(key);
    keys.positive(key, 1);  // complains
    return true;
  };
  a.attention_softcap = caps("attn_logit_softcapping");
  a.logit_softcap = caps("final_logit_softcapping");
}

void read_gemma2(ConfigKeys& keys, Architecture& a) {
  read_common(keys, a, {256000, 2304, 9216, 26, 8, 4, 8192});
  a.form = BlockForm::sandwich;
  read_softcaps(keys, a, true);
  read_windows(keys, a, read_window(keys, "sliding_window", 4096), 2);
}

void read_gemma3(ConfigKeys& keys, Architecture& a) {
  read_common(keys, a, {262208, 2304, 9216, 26, 8, 4, 131072, 1e-6, 1e6});
  a.form = BlockForm::sandwich;
  a.head_norm = HeadNorm::per_head;
  read_softcaps(keys, a, false);
  const char* pattern = keys.first_of({"sliding_window_pattern", "_sliding_window_pattern"});
  read_windows(keys, a, read_window(keys, "sliding_window", 4096), keys.count(pattern, 6));
}

/// Blocks that see all have wider heads, fewer keys, and keys that are the values as well.
void place_global_heads(ConfigKeys& keys, Architecture& a) {
  if (!make_blocks(keys, a)) return;
  BlockShape wide;
  wide.head_dim = keys.count("global_head_dim", 512);
  const bool one_for_both = keys.flag("attention_k_eq_v", false);
  if (one_for_both) wide.kv_heads = keys.count("num_global_key_value_heads", a.kv_heads);
  wide.rotated_dims = wide.head_dim / 4;
  read_windows(keys, a, read_window(keys, "sliding_window", 512), 6);
  for (BlockTraits& block : a.blocks) {
    if (block.window > 0) continue;
    block.keys_are_values = one_for_both;
    block.shape = wide;
  }
}

void read_gemma4(ConfigKeys& keys, Architecture& a) {
  read_common(keys, a, {262144, 2304, 9216, 30, 8, 4, 131072});
  a.form = BlockForm::sandwich;
  a.head_norm = HeadNorm::per_head;
  a.value_norm = true;
  read_softcaps(keys, a, false);
  for (const char* key : {"hidden_size_per_layer_input", "num_kv_shared_layers"})
    if (keys.count_or_zero(key, 0) > 0)
      keys.complain(key, "embeddings of each block, and keys of another block, cannot be described",
                    "Gemma 4 without them (26B, 31B) can");
  if (keys.flag("enable_moe_block", false)) {
    a.experts = keys.count("num_experts", 128);
    a.experts_per_token = keys.count("top_k_experts", 8);
    a.expert_ffn = keys.count("moe_intermediate_size", 704);
    a.router_scales = a.dense_beside_experts = true;
    check_experts(keys, a, "top_k_experts", "num_experts");
  }
  place_global_heads(keys, a);
}

WeightNames gemma_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  if (a.form != BlockForm::sandwich) return n;
  n.norm_1_after = "post_attention_layernorm";
  n.norm_2 = "pre_feedforward_layernorm";
  n.norm_2_after = "post_feedforward_layernorm";
  return n;
}

WeightNames gemma4_names(const Architecture& a) {
  WeightNames n = gemma_names(a);
  n.dense_after = "post_feedforward_layernorm_1";
  n.experts_before = "pre_feedforward_layernorm_2";
  n.experts_after = "post_feedforward_layernorm_2";
  n.experts.prefix.clear();
  n.experts.router = "router.proj";
  n.experts.gate.clear();
  n.experts.up = "gate_up_proj";
  n.experts.down = "down_proj";
  n.experts.stacked = true;
  return n;
}

constexpr TypeReader gemma_types[] = {
    {"gemma", read_gemma, gemma_names},
    {"gemma2", read_gemma2, gemma_names},
    {"gemma3_text", read_gemma3, gemma_names},
    {"gemma4_text", read_gemma4, gemma4_names},
};

}  // namespace

std::span<const TypeReader> gemma_readers() { return gemma_types; }

}  // namespace spillway::models
