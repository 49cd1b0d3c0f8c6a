#include "models/architecture.hpp"

#include "models/config_keys.hpp"

#include <string_view>

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
};

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

/// Defaults of Hugging Face's configuration class of one rotary decoder type.
struct RotaryDefaults {
  std::uint64_t vocabulary, hidden, ffn, layers, heads;
  std::uint64_t kv_heads;  ///< 0: as many as heads
  std::uint64_t max_positions;
  double norm_epsilon = 1e-6;
  double rope_theta = 10000;
};

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
  a.rope_theta = keys.positive("rope_theta", d.rope_theta);
}

void read_llama(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {32000, 4096, 11008, 32, 32, 0, 2048});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.ffn_bias = keys.flag("mlp_bias", false);
}

void read_qwen2(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {151936, 4096, 22016, 32, 32, 32, 32768});
  a.qkv_bias = true;
}

void read_mistral(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {32000, 4096, 14336, 32, 32, 8, 131072});
}

void read_mixtral(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {32000, 4096, 14336, 32, 32, 8, 131072, 1e-5, 1e6});
  a.experts = keys.count("num_local_experts", 8);
  a.experts_per_token = keys.count("num_experts_per_tok", 2);
  if (a.experts_per_token > a.experts)
    keys.complain("num_experts_per_tok", "more experts a token than the " +
                                             std::to_string(a.experts) + " of num_local_experts");
}

void use_biases(Architecture& a, bool biases) {
  a.layer_norm = true;
  a.qkv_bias = a.attention_output_bias = a.ffn_bias = biases;
}

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
  use_biases(a, keys.flag("enable_bias", true));
  a.activation = read_activation(keys, "activation_function", "relu");
  a.final_norm = keys.flag("do_layer_norm_before", true);
  if (a.final_norm && keys.flag("_remove_final_layer_norm", false))
    keys.complain("_remove_final_layer_norm", "not supported with do_layer_norm_before");
  if (!keys.flag("layer_norm_elementwise_affine", true))
    keys.complain("layer_norm_elementwise_affine", "norms without weights are not supported");
}

void read_gpt2(ConfigKeys& keys, Architecture& a) {
  a.vocabulary = keys.count("vocab_size", 50257);
  a.hidden = keys.count("n_embd", 768);
  a.ffn = keys.count("n_inner", 4 * a.hidden);
  a.layers = keys.count("n_layer", 12);
  a.heads = a.kv_heads = keys.count("n_head", 12);
  a.max_positions = a.learned_positions = keys.count("n_positions", 1024);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  use_biases(a, true);
  a.activation = read_activation(keys, "activation_function", "gelu_new");
  a.norm_epsilon = keys.positive("layer_norm_epsilon", 1e-5);
}

/// "ACTIVATION" or "gated-ACTIVATION"; T5 means the tanh form by gated gelu.
void read_t5_projection(ConfigKeys& keys, Architecture& a) {
  const std::string name = keys.text("feed_forward_proj", "relu");
  a.gated_ffn = name.starts_with("gated-");
  const std::string function = a.gated_ffn ? name.substr(6) : name;
  a.activation = a.gated_ffn && function == "gelu"
                     ? Activation::gelu_tanh
                     : activation_named(keys, "feed_forward_proj", function);
}

void read_t5(ConfigKeys& keys, Architecture& a) {
  a.stack = Stack::encoder_decoder;
  a.vocabulary = keys.count("vocab_size", 32128);
  a.hidden = keys.count("d_model", 512);
  a.head_dim = keys.count("d_kv", 64);
  a.ffn = keys.count("d_ff", 2048);
  a.encoder_layers = keys.count("num_layers", 6);
  a.layers = keys.count("num_decoder_layers", a.encoder_layers);
  a.heads = a.kv_heads = keys.count("num_heads", 8);
  a.relative_position_buckets = keys.count("relative_attention_num_buckets", 32);
  read_t5_projection(keys, a);
  a.norm_epsilon = keys.positive("layer_norm_epsilon", 1e-6);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
}

void read_bert(ConfigKeys& keys, Architecture& a) {
  a.stack = Stack::encoder;
  a.vocabulary = keys.count("vocab_size", 30522);
  a.hidden = keys.count("hidden_size", 768);
  a.ffn = keys.count("intermediate_size", 3072);
  a.layers = keys.count("num_hidden_layers", 12);
  a.heads = a.kv_heads = keys.count("num_attention_heads", 12);
  a.max_positions = a.learned_positions = keys.count("max_position_embeddings", 512);
  a.token_types = keys.count("type_vocab_size", 2);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  use_biases(a, true);
  a.activation = read_activation(keys, "hidden_act", "gelu");
  a.norm_epsilon = keys.positive("layer_norm_eps", 1e-12);
  a.embedding_norm = a.pooler = true;
  a.final_norm = false;
  if (!a.tied_embeddings)
    keys.complain("tie_word_embeddings", "an untied head is not supported for bert");
}

/// Facebook's DiT: patches of latents, conditioned by adaLN-Zero on time step and label.
void read_dit(ConfigKeys& keys, Architecture& a) {
  a.stack = Stack::encoder;
  a.hidden = keys.count("hidden_size", 1152);
  a.layers = keys.count("depth", 28);
  a.heads = a.kv_heads = keys.count("num_heads", 16);
  a.ffn = a.hidden * keys.count("mlp_ratio", 4);
  const std::uint64_t channels = keys.count("in_channels", 4), side = keys.count("patch_size", 2);
  a.patch_inputs = channels * side * side;
  a.patch_outputs = a.patch_inputs * (keys.flag("learn_sigma", true) ? 2 : 1);
  a.labels = keys.count("num_classes", 1000) + 1;  // one for none
  a.vocabulary = a.labels;
  use_biases(a, true);
  a.activation = Activation::gelu_tanh;
  a.norm_epsilon = 1e-6;
}

struct TypeReader {
  const char* type;
  void (*read)(ConfigKeys&, Architecture&);
  const char* heads_key;
};
constexpr TypeReader readers[] = {
    {"llama", read_llama, "num_attention_heads"},
    {"qwen2", read_qwen2, "num_attention_heads"},
    {"mistral", read_mistral, "num_attention_heads"},
    {"granite", read_llama, "num_attention_heads"},
    {"mixtral", read_mixtral, "num_attention_heads"},
    {"opt", read_opt, "num_attention_heads"},
    {"gpt2", read_gpt2, "n_head"},
    {"t5", read_t5, "num_heads"},
    {"bert", read_bert, "num_attention_heads"},
    {"dit", read_dit, "num_heads"},
};

const TypeReader& reader_of(ConfigKeys& keys, const std::string& type) {
  for (const TypeReader& reader : readers)
    if (type == reader.type) return reader;
  std::string known;
  for (const std::string& name : known_model_types()) known += (known.empty() ? "" : ", ") + name;
  const std::string nearest = description::nearest_name(type, known_model_types());
  keys.complain("model_type", type.empty() ? "missing" : "no \"" + type + "\"",
                (nearest.empty() ? "" : "did you mean \"" + nearest + "\"? ") + "known: " + known);
  keys.throw_complaints();
  return readers[0];
}

// Rough, in floating point, so that absurd sizes are refused before they overflow or fill memory.
void refuse_absurd_sizes(ConfigKeys& keys, const Architecture& a) {
  const double layers = static_cast<double>(a.layers + a.encoder_layers);
  const double experts = static_cast<double>(a.experts == 0 ? 1 : a.experts);
  const double h = static_cast<double>(a.hidden);
  const double block = h * (4 * static_cast<double>(a.heads) * static_cast<double>(a.head_dim) +
                            3 * experts * static_cast<double>(a.ffn));
  const double rows = static_cast<double>(a.vocabulary + a.max_positions + a.token_types);
  const double ends = 2 * rows * static_cast<double>(a.hidden + a.embedding_width) +
                      static_cast<double>(a.relative_position_buckets * a.heads);
  if (layers * block + ends > 1e15) keys.complain("", "more than 1e15 parameters");
  if (layers * experts > 1e5) keys.complain("", "more than 100000 layers and experts");
}

}  // namespace

const std::vector<std::string>& known_model_types() {
  static const std::vector<std::string> types = [] {
    std::vector<std::string> names;
    for (const TypeReader& reader : readers) names.emplace_back(reader.type);
    return names;
  }();
  return types;
}

Architecture read_architecture(const nlohmann::json& config, const std::string& name,
                               const std::string& file) {
  ConfigKeys keys(config, file);
  Architecture a;
  a.name = name;
  a.model_type = keys.text("model_type", "");
  const TypeReader& reader = reader_of(keys, a.model_type);
  reader.read(keys, a);
  if (a.embedding_width == 0) a.embedding_width = a.hidden;
  if (a.head_dim == 0) {
    a.head_dim = a.hidden / a.heads;
    if (a.hidden % a.heads != 0)
      keys.complain(reader.heads_key, std::to_string(a.heads) + " heads do not divide the width " +
                                          std::to_string(a.hidden));
  }
  if (a.heads % a.kv_heads != 0)
    keys.complain("num_key_value_heads", std::to_string(a.kv_heads) + " does not divide the " +
                                             std::to_string(a.heads) + " heads");
  refuse_absurd_sizes(keys, a);
  keys.throw_complaints();
  return a;
}

}  // namespace spillway::models
