#include "models/architecture/type_readers.hpp"

namespace spillway::models {

// Types whose code lies beside their weights; where a file leaves a key out, the defaults are those
// of that code.

namespace {

void read_internlm2(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {103168, 4096, 11008, 32, 32, 0, 2048});
  a.qkv_bias = a.attention_output_bias = keys.flag("bias", true);
}

/// 13B has slopes instead of rotary positions, and says so by naming no largest position.
void read_baichuan(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {64000, 4096, 11008, 32, 32, 0, 4096});
  a.kv_heads = a.heads;
  a.alibi = !keys.has("max_position_embeddings") && keys.has("model_max_length");
  if (a.alibi) a.max_positions = keys.count("model_max_length", 4096);
}

/// Qwen 1, whose intermediate_size is that of gate and up together.
void read_qwen(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {151936, 4096, 22016, 32, 32, 0, 8192});
  a.kv_heads = a.heads;
  a.ffn /= 2;
  a.head_dim = keys.count("kv_channels", 0);
  a.qkv_bias = true;
  a.attention_output_bias = a.ffn_bias = !keys.flag("no_bias", true);
  a.max_positions = keys.count("seq_length", a.max_positions);
  a.norm_epsilon = keys.positive("layer_norm_epsilon", 1e-6);
}

/// ChatGLM 2, 3 and GLM-4 as THUDM published them.
void read_chatglm(ConfigKeys& keys, Architecture& a) {
  if (keys.has("position_encoding_2d") || keys.has("inner_hidden_size"))
    return keys.complain(keys.first_of({"position_encoding_2d", "inner_hidden_size"}),
                         "the first ChatGLM, with positions in two dimensions, is not supported",
                         "ChatGLM2 and later are");
  a.vocabulary = keys.count(keys.first_of({"padded_vocab_size", "vocab_size"}), 65024);
  a.hidden = keys.count("hidden_size", 4096);
  a.ffn = keys.count("ffn_hidden_size", 13696);
  a.layers = keys.count("num_layers", 28);
  a.heads = keys.count("num_attention_heads", 32);
  a.head_dim = keys.count("kv_channels", 128);
  a.kv_heads =
      keys.flag("multi_query_attention", false) ? keys.count("multi_query_group_num", 1) : a.heads;
  a.max_positions = keys.count("seq_length", 2048);
  a.tied_embeddings = keys.flag("tie_word_embeddings", false);
  a.gated_ffn = true;
  a.attention_output_bias = a.ffn_bias = keys.flag("add_bias_linear", false);
  a.qkv_bias = keys.flag("add_qkv_bias", false) || a.ffn_bias;
  a.layer_norm = a.norm_bias = !keys.flag("rmsnorm", true);
  a.hidden_dropout = true;
  a.rotated_dims = a.head_dim / 2;
  a.norm_epsilon = keys.positive("layernorm_epsilon", 1e-5);
}

void read_exaone(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {102400, 2048, 8192, 32, 32, 0, 2048});
  const char* layers = keys.first_of({"num_layers", "num_hidden_layers"});
  a.layers = keys.count(layers, 32);
  a.ffn = keys.count("intermediate_size", 4 * a.hidden);
  a.activation = read_activation(keys, "activation_function", "silu");
  a.norm_epsilon = keys.positive("layer_norm_epsilon", 1e-5);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
}

WeightNames internlm2_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  n.tokens = "model.tok_embeddings.weight";
  n.attention_prefix = "attention.";
  n.qkv = {{"wqkv", WeightKind::query}};
  n.attention_output = "wo";
  n.feed_forward_prefix = "feed_forward.";
  n.gate = "w1";
  n.gated_up = "w3";
  n.down = "w2";
  n.norm_1 = "attention_norm";
  n.norm_2 = "ffn_norm";
  n.head = "output";
  return n;
}

WeightNames baichuan_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  n.qkv = {{"W_pack", WeightKind::query}};
  return n;
}

WeightNames qwen_names(const Architecture&) {
  WeightNames n = gpt_names();
  n.gate = "w2";
  n.gated_up = "w1";
  return n;
}

WeightNames chatglm_names(const Architecture&) {
  WeightNames n = megatron_names("self_attention.");
  n.tokens = "transformer.embedding.word_embeddings.weight";
  n.block_prefix = "transformer.encoder.layers.";
  n.final_norm = "transformer.encoder.final_layernorm";
  n.head = "transformer.output_layer";
  return n;
}

WeightNames exaone_names(const Architecture&) {
  WeightNames n = gpt_names();
  n.attention_prefix = "attn.attention.";
  n.qkv = {
      {"q_proj", WeightKind::query}, {"k_proj", WeightKind::key}, {"v_proj", WeightKind::value}};
  n.attention_output = "out_proj";
  n.gate = "c_fc_0";
  n.gated_up = "c_fc_1";
  return n;
}

constexpr TypeReader remote_types[] = {
    {"internlm2", read_internlm2, internlm2_names},
    {"baichuan", read_baichuan, baichuan_names},
    {"qwen", read_qwen, qwen_names},
    {"chatglm", read_chatglm, chatglm_names},
    {"exaone", read_exaone, exaone_names},
};

}  // namespace

std::span<const TypeReader> remote_readers() { return remote_types; }

}  // namespace spillway::models
