#include "models/architecture/type_readers.hpp"

#include <cmath>

namespace spillway::models {

namespace {

struct ActivationName {
  const char* name;
  Activation activation;
};
constexpr ActivationName activation_names[] = {
    {"silu", Activation::silu},
    {"swish", Activation::silu},
    {"gelu", Activation::gelu},
    {"gelu_new", Activation::gelu_tanh},
    {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_fast", Activation::gelu_tanh},
    {"relu", Activation::relu},
    {"relu2", Activation::relu_squared},
};

/// A number of rotary positions: by itself, or inside `rope_parameters` in files of today.
double rope_number(ConfigKeys& keys, const char* key, double otherwise) {
  if (keys.has(key) || !keys.json().value("rope_parameters", nlohmann::json()).is_object())
    return keys.positive(key, otherwise);
  ConfigKeys inner = keys.inside("rope_parameters");
  const double number = inner.positive(key, otherwise);
  keys.join(inner);
  return number;
}

/// Blocks beyond this are no model; the list of them must not fill memory.
constexpr std::uint64_t most_blocks = 10000;

}  // namespace

Activation activation_named(ConfigKeys& keys, const char* key, const std::string& name) {
  std::string known;
  for (const ActivationName& row : activation_names) {
    if (name == row.name) return row.activation;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  keys.complain(key, "no activation \"" + name + "\"", "known: " + known);
  return Activation::silu;
}

Activation read_activation(ConfigKeys& keys, const char* key, const char* otherwise) {
  return activation_named(keys, key, keys.text(key, otherwise));
}

void read_rotary(ConfigKeys& keys, Architecture& a, const RotaryDefaults& d) {
  a.vocabulary = keys.count("vocab_size", d.vocabulary);
  a.hidden = keys.count("hidden_size", d.hidden);
  a.ffn = keys.count("intermediate_size", d.ffn);
  a.layers = keys.count("num_hidden_layers", d.layers);
  a.heads = keys.count("num_attention_heads", d.heads);
  a.kv_heads = keys.count("num_key_value_heads", d.kv_heads == 0 ? a.heads : d.kv_heads);
  a.head_dim = keys.count("head_dim", 0);
  a.max_positions = keys.count("max_position_embeddings", d.max_positions);
  a.tied_embeddings = keys.flag("tie_word_embeddings", false);
  a.gated_ffn = true;
  a.activation = read_activation(keys, "hidden_act", "silu");
  a.norm_epsilon = keys.positive("rms_norm_eps", d.norm_epsilon);
  a.rope_theta = rope_number(keys, "rope_theta", d.rope_theta);
}

void use_layer_norm(Architecture& a, bool biases) {
  a.layer_norm = a.norm_bias = a.hidden_dropout = true;
  a.qkv_bias = a.attention_output_bias = a.ffn_bias = biases;
}

void read_partial_rotary(ConfigKeys& keys, Architecture& a, double otherwise) {
  const char* key = keys.first_of({"partial_rotary_factor", "rotary_pct", "rope_pct"});
  const double share = rope_number(keys, key, otherwise);
  if (share > 1) keys.complain(key, "more than a whole head");
  if (share < 1 && a.heads > 0) {
    const std::uint64_t width = a.head_dim == 0 ? a.hidden / a.heads : a.head_dim;
    a.rotated_dims = static_cast<std::uint64_t>(std::floor(share * static_cast<double>(width)));
  }
}

bool make_blocks(ConfigKeys& keys, Architecture& a) {
  if (!a.blocks.empty()) return true;
  if (a.layers > most_blocks) {
    keys.complain("num_hidden_layers", "more than " + std::to_string(most_blocks) + " blocks");
    return false;
  }
  BlockTraits alike;
  alike.experts = a.experts > 0;
  a.blocks.assign(a.layers, alike);
  return true;
}

std::uint64_t read_window(ConfigKeys& keys, const char* key, std::uint64_t otherwise) {
  return keys.count_or_zero(key, keys.json().contains(key) ? 0 : otherwise);
}

void read_windows(ConfigKeys& keys, Architecture& a, std::uint64_t window, std::uint64_t pattern) {
  if (window == 0 || !make_blocks(keys, a)) return;
  const std::vector<std::string> types = keys.words("layer_types");
  if (!types.empty() && types.size() < a.blocks.size())
    return keys.complain("layer_types", std::to_string(types.size()) + " types for " +
                                            std::to_string(a.blocks.size()) + " layers");
  for (std::size_t i = 0; i < a.blocks.size(); ++i) {
    const bool slides =
        types.empty() ? pattern == 0 || (i + 1) % pattern != 0 : types[i] == "sliding_attention";
    if (slides) a.blocks[i].window = window;
  }
}

void place_experts(ConfigKeys& keys, Architecture& a, std::uint64_t dense, std::uint64_t step) {
  if (!make_blocks(keys, a)) return;
  for (std::size_t i = 0; i < a.blocks.size(); ++i)
    a.blocks[i].experts = a.experts > 0 && i >= dense && step > 0 && i % step == 0;
}

void place_qwen_experts(ConfigKeys& keys, Architecture& a) {
  if (!make_blocks(keys, a)) return;
  const std::uint64_t step = keys.count("decoder_sparse_step", 1);
  for (std::size_t i = 0; i < a.blocks.size(); ++i)
    a.blocks[i].experts = a.experts > 0 && (i + 1) % step == 0;
  for (const std::uint64_t i : keys.counts("mlp_only_layers"))
    if (i < a.blocks.size()) a.blocks[i].experts = false;
}

void check_experts(ConfigKeys& keys, const Architecture& a, const char* used, const char* all) {
  if (a.experts_per_token > a.experts)
    keys.complain(used,
                  "more experts a token than the " + std::to_string(a.experts) + " of " + all);
}

RouterRule read_router_rule(ConfigKeys& keys) {
  return keys.flag("norm_topk_prob", false) ? RouterRule::softmax_of_chosen
                                            : RouterRule::softmax_of_all;
}

void note_prediction_heads(ConfigKeys& keys, Architecture& a, const char* count_key) {
  const std::uint64_t heads = keys.count_or_zero(count_key, 0);
  if (heads == 0) return;
  a.notes.push_back(
      std::to_string(heads) + " layer" +
      (heads == 1 ? " for multi-token prediction is" : "s for multi-token prediction are") +
      " left out (" + count_key + "), as Hugging Face's model does.");
}

WeightNames qwen_moe_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  n.experts.shared = "shared_expert.";
  return n;
}

WeightNames gpt_names() {
  WeightNames n;
  n.tokens = "transformer.wte.weight";
  n.block_prefix = "transformer.h.";
  n.attention_prefix = "attn.";
  n.qkv = {{"c_attn", WeightKind::query}};
  n.attention_output = "c_proj";
  n.feed_forward_prefix = "mlp.";
  n.up = "c_fc";
  n.down = "c_proj";
  n.norm_1 = "ln_1";
  n.norm_2 = "ln_2";
  n.norm_place = NormPlace::first;
  n.final_norm = "transformer.ln_f";
  return n;
}

WeightNames megatron_names(const std::string& attention_prefix) {
  WeightNames n;
  n.attention_prefix = attention_prefix;
  n.qkv = {{"query_key_value", WeightKind::query}};
  n.attention_output = "dense";
  n.feed_forward_prefix = "mlp.";
  n.up = n.gated_up = "dense_h_to_4h";
  n.down = "dense_4h_to_h";
  n.norm_1 = "input_layernorm";
  n.norm_2 = "post_attention_layernorm";
  n.norm_place = NormPlace::first;
  return n;
}

std::vector<std::span<const TypeReader>> all_readers() {
  return {llama_readers(),  gemma_readers(),     expert_readers(), latent_readers(),
          hybrid_readers(), recurrent_readers(), gpt_readers(),    parallel_readers(),
          remote_readers(), encoder_readers()};
}

const TypeReader* reader_named(const std::string& type) {
  for (const auto& table : all_readers())
    for (const TypeReader& reader : table)
      if (type == reader.type) return &reader;
  return nullptr;
}

}  // namespace spillway::models
