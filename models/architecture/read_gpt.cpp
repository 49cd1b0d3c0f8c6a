#include "models/architecture/type_readers.hpp"

namespace spillway::models {

namespace {

void read_opt(ConfigKeys& keys, Architecture& a) {
  a.vocabulary = keys.count("vocab_size", 50272);
  a.hidden = keys.count("hidden_size", 768);
  a.ffn = keys.count("ffn_dim", 3072);
  a.layers = keys.count("num_hidden_layers", 12);
  a.heads = a.kv_heads = keys.count("num_attention_heads", 12);
  a.max_positions = keys.count("max_position_embeddings", 2048);
  a.position_offset = 2;
  a.learned_positions = a.max_positions + a.position_offset;
  a.embedding_width = keys.count("word_embed_proj_dim", a.hidden);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  use_layer_norm(a, keys.flag("enable_bias", true));
  a.activation = read_activation(keys, "activation_function", "relu");
  a.final_norm = keys.flag("do_layer_norm_before", true);
  if (!a.final_norm) a.form = BlockForm::post_norm;
  if (a.final_norm && keys.flag("_remove_final_layer_norm", false))
    keys.complain("_remove_final_layer_norm", "not supported with do_layer_norm_before");
  if (!keys.flag("layer_norm_elementwise_affine", true))
    keys.complain("layer_norm_elementwise_affine", "norms without weights are not supported");
}

/// What one type of GPT-2's kin calls a size, the name that transformers takes too (its classes'
/// attribute_map), and how large it is without either.
struct GptSize {
  const char* key;
  const char* common;
  std::uint64_t otherwise;
};
struct GptSizes {
  GptSize hidden, layers, heads, positions;
  const char* ffn;  ///< 4 times the hidden width without it
};

void read_gpt(ConfigKeys& keys, Architecture& a, const GptSizes& sizes) {
  const auto count = [&](const GptSize& size) {
    return keys.count(keys.first_of({size.key, size.common}), size.otherwise);
  };
  a.vocabulary = keys.count("vocab_size", 50257);
  a.hidden = count(sizes.hidden);
  a.ffn = keys.count(sizes.ffn, 4 * a.hidden);
  a.layers = count(sizes.layers);
  a.heads = a.kv_heads = count(sizes.heads);
  a.max_positions = a.learned_positions = count(sizes.positions);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  use_layer_norm(a, true);
  a.activation = read_activation(keys, "activation_function", "gelu_new");
  a.norm_epsilon = keys.positive("layer_norm_epsilon", 1e-5);
}

void read_gpt2(ConfigKeys& keys, Architecture& a) {
  read_gpt(keys, a,
           {{"n_embd", "hidden_size", 768},
            {"n_layer", "num_hidden_layers", 12},
            {"n_head", "num_attention_heads", 12},
            {"n_positions", "max_position_embeddings", 1024},
            "n_inner"});
}

void read_gpt_bigcode(ConfigKeys& keys, Architecture& a) {
  read_gpt2(keys, a);
  a.activation = read_activation(keys, "activation_function", "gelu_pytorch_tanh");
  if (keys.flag("multi_query", true)) a.kv_heads = 1;
}

/// Blocks of the pattern "local" see the last `window_size` tokens.
void place_local_attention(ConfigKeys& keys, Architecture& a) {
  const std::uint64_t window = keys.count("window_size", 256);
  std::vector<std::string> layers = keys.words("attention_layers");
  if (!make_blocks(keys, a)) return;
  for (std::size_t i = 0; i < a.blocks.size(); ++i) {
    const bool local = layers.empty() ? i % 2 == 1 : layers[i % layers.size()] == "local";
    if (local) a.blocks[i].window = window;
  }
}

void read_gpt_neo(ConfigKeys& keys, Architecture& a) {
  read_gpt(keys, a,
           {{"hidden_size", "hidden_size", 2048},
            {"num_layers", "num_hidden_layers", 24},
            {"num_heads", "num_attention_heads", 16},
            {"max_position_embeddings", "max_position_embeddings", 2048},
            "intermediate_size"});
  a.qkv_bias = false;
  place_local_attention(keys, a);
}

void read_starcoder2(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {49152, 3072, 12288, 30, 24, 2, 4096});
  use_layer_norm(a, keys.flag("use_bias", true));
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  a.gated_ffn = false;
  a.activation = read_activation(keys, "hidden_act", "gelu_pytorch_tanh");
  a.norm_epsilon = keys.positive("norm_epsilon", 1e-5);
  read_windows(keys, a, read_window(keys, "sliding_window", 0), 0);
}

void read_bloom(ConfigKeys& keys, Architecture& a) {
  a.vocabulary = keys.count("vocab_size", 250880);
  a.hidden = keys.count(keys.first_of({"hidden_size", "n_embed", "n_embd"}), 64);
  a.ffn = 4 * a.hidden;
  a.layers = keys.count(keys.first_of({"num_hidden_layers", "n_layer"}), 2);
  a.heads = a.kv_heads = keys.count(keys.first_of({"num_attention_heads", "n_head"}), 8);
  a.max_positions = keys.count("seq_length", 2048);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  use_layer_norm(a, true);
  a.alibi = a.embedding_norm = true;
  a.activation = Activation::gelu_tanh;
  a.norm_epsilon = keys.positive("layer_norm_epsilon", 1e-5);
}

void read_mpt(ConfigKeys& keys, Architecture& a) {
  a.vocabulary = keys.count("vocab_size", 50368);
  a.hidden = keys.count(keys.first_of({"d_model", "hidden_size"}), 2048);
  a.ffn = a.hidden * keys.count("expansion_ratio", 4);
  a.layers = keys.count(keys.first_of({"n_layers", "num_hidden_layers"}), 24);
  a.heads = a.kv_heads = keys.count(keys.first_of({"n_heads", "num_attention_heads"}), 16);
  a.max_positions = keys.count("max_seq_len", 2048);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  use_layer_norm(a, false);
  a.norm_bias = false;
  a.activation = Activation::gelu;
  ConfigKeys attention = keys.inside("attn_config");
  a.alibi = attention.flag("alibi", true);
  a.kv_heads = attention.count("kv_n_heads", a.heads);
  keys.join(attention);
  if (!a.alibi) keys.complain("attn_config.alibi", "only mpt with ALiBi is read", "write true");
  if (!keys.flag("no_bias", true)) keys.complain("no_bias", "only mpt without biases is read");
}

WeightNames opt_names(const Architecture&) {
  WeightNames n;
  n.tokens = "model.decoder.embed_tokens.weight";
  n.positions = "model.decoder.embed_positions.weight";
  n.project_in = "model.decoder.project_in";
  n.project_out = "model.decoder.project_out";
  n.block_prefix = "model.decoder.layers.";
  n.attention_prefix = "self_attn.";
  n.qkv = {
      {"k_proj", WeightKind::key}, {"v_proj", WeightKind::value}, {"q_proj", WeightKind::query}};
  n.attention_output = "out_proj";
  n.up = "fc1";
  n.down = "fc2";
  n.norm_1 = "self_attn_layer_norm";
  n.norm_2 = "final_layer_norm";
  n.norm_place = NormPlace::behind;
  n.final_norm = "model.decoder.final_layer_norm";
  return n;
}

WeightNames bigcode_names(const Architecture&) {
  WeightNames n = gpt_names();
  n.positions = "transformer.wpe.weight";
  return n;
}

WeightNames gpt2_names(const Architecture& a) {
  WeightNames n = bigcode_names(a);
  n.inputs_first = true;
  return n;
}

WeightNames gpt_neo_names(const Architecture& a) {
  WeightNames n = bigcode_names(a);
  n.attention_prefix = "attn.attention.";
  n.qkv = {
      {"k_proj", WeightKind::key}, {"v_proj", WeightKind::value}, {"q_proj", WeightKind::query}};
  n.attention_output = "out_proj";
  return n;
}

WeightNames starcoder2_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  n.up = "c_fc";
  n.down = "c_proj";
  return n;
}

WeightNames bloom_names(const Architecture&) {
  WeightNames n = megatron_names("self_attention.");
  n.tokens = "transformer.word_embeddings.weight";
  n.embedding_norm = "transformer.word_embeddings_layernorm";
  n.block_prefix = "transformer.h.";
  n.final_norm = "transformer.ln_f";
  return n;
}

WeightNames mpt_names(const Architecture&) {
  WeightNames n;
  n.tokens = "transformer.wte.weight";
  n.block_prefix = "transformer.blocks.";
  n.attention_prefix = "attn.";
  n.qkv = {{"Wqkv", WeightKind::query}};
  n.attention_output = "out_proj";
  n.feed_forward_prefix = "ffn.";
  n.up = "up_proj";
  n.down = "down_proj";
  n.norm_1 = "norm_1";
  n.norm_2 = "norm_2";
  n.norm_place = NormPlace::first;
  n.final_norm = "transformer.norm_f";
  return n;
}

constexpr TypeReader gpt_types[] = {
    {"opt", read_opt, opt_names},
    {"gpt2", read_gpt2, gpt2_names},
    {"gpt_bigcode", read_gpt_bigcode, bigcode_names},
    {"gpt_neo", read_gpt_neo, gpt_neo_names},
    {"starcoder2", read_starcoder2, starcoder2_names},
    {"bloom", read_bloom, bloom_names},
    {"mpt", read_mpt, mpt_names},
};

}  // namespace

std::span<const TypeReader> gpt_readers() { return gpt_types; }

}  // namespace spillway::models
