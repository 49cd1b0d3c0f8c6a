#include "models/type_readers.hpp"

namespace spillway::models {

namespace {

/// What all Gemmas share: wide heads, GEGLU, a tied head.
void read_common(ConfigKeys& keys, Architecture& a, const RotaryDefaults& defaults) {
  read_rotary(keys, a, defaults);
  a.head_dim = keys.count("head_dim", 256);
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

WeightNames gemma_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  if (a.form != BlockForm::sandwich) return n;
  n.norm_1_after = "post_attention_layernorm";
  n.norm_2 = "pre_feedforward_layernorm";
  n.norm_2_after = "post_feedforward_layernorm";
  return n;
}

constexpr TypeReader gemma_types[] = {
    {"gemma", read_gemma, gemma_names},
    {"gemma2", read_gemma2, gemma_names},
    {"gemma3_text", read_gemma3, gemma_names},
};

}  // namespace

std::span<const TypeReader> gemma_readers() { return gemma_types; }

}  // namespace spillway::models
