#include "models/architecture/type_readers.hpp"

namespace spillway::models {

namespace {

/// GPT-J's kin, with the keys of GPT-2: no biases in attention, all else has them.
void read_gptj(ConfigKeys& keys, Architecture& a) {
  a.vocabulary = keys.count("vocab_size", 50400);
  a.hidden = keys.count(keys.first_of({"n_embd", "hidden_size"}), 4096);
  a.ffn = keys.count("n_inner", 4 * a.hidden);
  a.layers = keys.count(keys.first_of({"n_layer", "num_hidden_layers"}), 28);
  a.heads = a.kv_heads = keys.count(keys.first_of({"n_head", "num_attention_heads"}), 16);
  a.max_positions = keys.count(keys.first_of({"n_positions", "max_position_embeddings"}), 2048);
  a.tied_embeddings = keys.flag("tie_word_embeddings", false);
  use_layer_norm(a, false);
  a.ffn_bias = a.head_bias = true;
  a.form = BlockForm::parallel;
  a.rotated_dims = keys.count("rotary_dim", 64);
  a.activation = read_activation(keys, "activation_function", "gelu_new");
  a.norm_epsilon = keys.positive("layer_norm_epsilon", 1e-5);
}

void read_gpt_neox(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {50432, 6144, 24576, 44, 64, 0, 2048});
  use_layer_norm(a, true);
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", true);
  a.gated_ffn = false;
  a.activation = read_activation(keys, "hidden_act", "gelu");
  a.norm_epsilon = keys.positive("layer_norm_eps", 1e-5);
  a.rope_theta = keys.positive(keys.first_of({"rotary_emb_base", "rope_theta"}), 10000);
  if (keys.flag("use_parallel_residual", true)) a.form = BlockForm::parallel_norms;
  read_partial_rotary(keys, a, 0.25);
}

void read_phi(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {51200, 2048, 8192, 24, 32, 0, 2048});
  use_layer_norm(a, true);
  a.head_bias = true;
  a.gated_ffn = false;
  a.form = BlockForm::parallel;
  a.activation = read_activation(keys, "hidden_act", "gelu_new");
  a.norm_epsilon = keys.positive("layer_norm_eps", 1e-5);
  read_partial_rotary(keys, a, 0.5);
  if (keys.flag("qk_layernorm", false))
    keys.complain("qk_layernorm", "norms of queries and keys are not supported for phi");
}

void read_cohere(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {256000, 8192, 22528, 40, 64, 0, 8192});
  a.layer_norm = true;  // without bias
  a.norm_epsilon = keys.positive("layer_norm_eps", 1e-5);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.form = BlockForm::parallel;
  if (keys.flag("use_qk_norm", false)) a.head_norm = HeadNorm::each_head;
}

/// Only blocks with a window have positions.
void read_cohere2(ConfigKeys& keys, Architecture& a) {
  read_cohere(keys, a);
  a.head_norm = HeadNorm::none;
  const char* pattern = keys.first_of({"sliding_window_pattern", "_sliding_window_pattern"});
  read_windows(keys, a, read_window(keys, "sliding_window", 4096), keys.count(pattern, 4));
  for (BlockTraits& block : a.blocks) block.rotary = block.window > 0;
}

/// Falcon has three kinds of blocks: those of 40B and 180B (`new_decoder_architecture`), those of
/// 7B (one key head, one norm), and plain ones one half after the other.
void read_falcon(ConfigKeys& keys, Architecture& a) {
  a.vocabulary = keys.count("vocab_size", 65024);
  a.hidden = keys.count("hidden_size", 4544);
  a.layers = keys.count(keys.first_of({"num_hidden_layers", "n_layer"}), 32);
  a.heads = keys.count(keys.first_of({"num_attention_heads", "n_head"}), 71);
  a.ffn = keys.count("ffn_hidden_size", 4 * a.hidden);
  a.max_positions = keys.count("max_position_embeddings", 2048);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  use_layer_norm(a, keys.flag("bias", false));
  a.activation = read_activation(keys, "activation", "gelu");
  a.norm_epsilon = keys.positive("layer_norm_epsilon", 1e-5);
  a.rope_theta = keys.positive("rope_theta", 10000);
  a.alibi = keys.flag("alibi", false);
  const char* groups = keys.first_of({"num_kv_heads", "n_head_kv"});
  // The first files of 40B have another type and n_head_kv.
  const bool grouped = keys.flag("new_decoder_architecture", keys.has("n_head_kv"));
  const bool one_key = keys.flag("multi_query", true);
  a.kv_heads = grouped ? keys.count(groups, a.heads) : one_key ? 1 : a.heads;
  const bool two_norms = keys.count("num_ln_in_parallel_attn", 2) == 2;
  if (grouped)
    a.form = two_norms ? BlockForm::parallel_norms : BlockForm::parallel;
  else if (keys.flag("parallel_attn", true))
    a.form = BlockForm::parallel;
}

WeightNames gptj_names(const Architecture&) {
  WeightNames n = gpt_names();
  n.qkv = {
      {"k_proj", WeightKind::key}, {"v_proj", WeightKind::value}, {"q_proj", WeightKind::query}};
  n.attention_output = "out_proj";
  n.up = "fc_in";
  n.down = "fc_out";
  n.norm_place = NormPlace::beginning;
  return n;
}

WeightNames codegen_names(const Architecture& a) {
  WeightNames n = gptj_names(a);
  n.qkv = {{"qkv_proj", WeightKind::query}};
  return n;
}

WeightNames gpt_neox_names(const Architecture&) {
  WeightNames n = megatron_names("attention.");
  n.tokens = "gpt_neox.embed_in.weight";
  n.block_prefix = "gpt_neox.layers.";
  n.norm_place = NormPlace::beginning;
  n.final_norm = "gpt_neox.final_layer_norm";
  n.head = "embed_out";
  return n;
}

WeightNames phi_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  n.attention_output = "dense";
  n.up = "fc1";
  n.down = "fc2";
  n.final_norm = "model.final_layernorm";
  return n;
}

WeightNames falcon_names(const Architecture& a) {
  WeightNames n = megatron_names("self_attention.");
  n.tokens = "transformer.word_embeddings.weight";
  n.block_prefix = "transformer.h.";
  if (a.form == BlockForm::parallel_norms) {
    n.norm_1 = "ln_attn";
    n.norm_2 = "ln_mlp";
  }
  n.norm_place = NormPlace::last;
  n.final_norm = "transformer.ln_f";
  return n;
}

constexpr TypeReader parallel_types[] = {
    {"gptj", read_gptj, gptj_names},
    {"codegen", read_gptj, codegen_names},
    {"gpt_neox", read_gpt_neox, gpt_neox_names},
    {"phi", read_phi, phi_names},
    {"cohere", read_cohere, llama_names},
    {"cohere2", read_cohere2, llama_names},
    {"falcon", read_falcon, falcon_names},
    {"RefinedWeb", read_falcon, falcon_names},
    {"RefinedWebModel", read_falcon, falcon_names},
};

}  // namespace

std::span<const TypeReader> parallel_readers() { return parallel_types; }

}  // namespace spillway::models
