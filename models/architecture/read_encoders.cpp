#include "models/architecture/type_readers.hpp"

namespace spillway::models {

namespace {

/// "ACTIVATION" or "gated-ACTIVATION"; T5 means the tanh form by gated gelu.
void read_t5_projection(ConfigKeys& keys, Architecture& a, const char* otherwise) {
  const std::string name = keys.text("feed_forward_proj", otherwise);
  a.gated_ffn = name.starts_with("gated-");
  const std::string function = a.gated_ffn ? name.substr(6) : name;
  a.activation = a.gated_ffn && function == "gelu"
                     ? Activation::gelu_tanh
                     : activation_named(keys, "feed_forward_proj", function);
}

void read_t5(ConfigKeys& keys, Architecture& a) {
  const bool first = a.model_type == "t5";  // mt5 is gated and has a head of its own
  a.stack = Stack::encoder_decoder;
  a.hidden_dropout = true;
  a.vocabulary = keys.count("vocab_size", first ? 32128 : 250112);
  a.hidden = keys.count("d_model", 512);
  a.head_dim = keys.count("d_kv", 64);
  a.ffn = keys.count("d_ff", first ? 2048 : 1024);
  a.encoder_layers = keys.count("num_layers", first ? 6 : 8);
  a.layers = keys.count("num_decoder_layers", a.encoder_layers);
  a.heads = a.kv_heads = keys.count("num_heads", first ? 8 : 6);
  a.relative_position_buckets = keys.count("relative_attention_num_buckets", 32);
  read_t5_projection(keys, a, first ? "relu" : "gated-gelu");
  a.norm_epsilon = keys.positive("layer_norm_epsilon", 1e-6);
  a.tied_embeddings = keys.flag("tie_word_embeddings", first);
}

/// What BERT's kin share: norms behind both halves and behind the embeddings, a tied head.
void read_bert_kin(ConfigKeys& keys, Architecture& a, const char* activation) {
  a.stack = Stack::encoder;
  a.vocabulary = keys.count("vocab_size", 30522);
  a.max_positions = a.learned_positions = keys.count("max_position_embeddings", 512);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  use_layer_norm(a, true);
  a.activation = read_activation(keys, activation, "gelu");
  a.embedding_norm = true;
  a.final_norm = false;
  a.form = BlockForm::post_norm;
}

void read_bert(ConfigKeys& keys, Architecture& a) {
  read_bert_kin(keys, a, "hidden_act");
  a.hidden = keys.count("hidden_size", 768);
  a.ffn = keys.count("intermediate_size", 3072);
  a.layers = keys.count("num_hidden_layers", 12);
  a.heads = a.kv_heads = keys.count("num_attention_heads", 12);
  a.token_types = keys.count("type_vocab_size", 2);
  a.norm_epsilon = keys.positive("layer_norm_eps", 1e-12);
  a.pooler = true;
  if (!a.tied_embeddings)
    keys.complain("tie_word_embeddings", "an untied head is not supported for " + a.model_type);
}

/// Positions begin behind the padding token's row.
void read_roberta(ConfigKeys& keys, Architecture& a) {
  read_bert(keys, a);
  a.vocabulary = keys.count("vocab_size", 50265);
  a.position_offset = keys.count_or_zero("pad_token_id", 1) + 1;
  if (a.learned_positions <= a.position_offset)
    return keys.complain("max_position_embeddings", "no positions behind the padding's");
  a.max_positions = a.learned_positions - a.position_offset;
}

/// No types of tokens and no pooler.
void read_distilbert(ConfigKeys& keys, Architecture& a) {
  read_bert_kin(keys, a, "activation");
  a.hidden = keys.count("dim", 768);
  a.ffn = keys.count("hidden_dim", 3072);
  a.layers = keys.count("n_layers", 6);
  a.heads = a.kv_heads = keys.count("n_heads", 12);
  a.norm_epsilon = 1e-12;
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
  use_layer_norm(a, true);
  a.activation = Activation::gelu_tanh;
  a.norm_epsilon = 1e-6;
}

WeightNames t5_names(const Architecture&) {
  WeightNames n;
  n.tokens = "shared.weight";
  n.qkv = {{"q", WeightKind::query}, {"k", WeightKind::key}, {"v", WeightKind::value}};
  n.attention_output = "o";
  n.gate = "wi_0";
  n.gated_up = "wi_1";
  n.up = "wi";
  n.down = "wo";
  n.final_norm = "decoder.final_layer_norm";
  return n;
}

WeightNames bert_names(const Architecture& a) {
  const std::string stem = a.model_type == "bert" ? "bert." : "roberta.";
  WeightNames n;
  n.tokens = stem + "embeddings.word_embeddings.weight";
  n.positions = stem + "embeddings.position_embeddings.weight";
  n.token_types = stem + "embeddings.token_type_embeddings.weight";
  n.embedding_norm = stem + "embeddings.LayerNorm";
  n.block_prefix = stem + "encoder.layer.";
  n.qkv = {{"attention.self.query", WeightKind::query},
           {"attention.self.key", WeightKind::key},
           {"attention.self.value", WeightKind::value}};
  n.attention_output = "attention.output.dense";
  n.up = "intermediate.dense";
  n.down = "output.dense";
  n.norm_1 = "attention.output.LayerNorm";
  n.norm_2 = "output.LayerNorm";
  n.norm_place = NormPlace::behind;
  n.pooler = stem + "pooler.dense";
  return n;
}

WeightNames distilbert_names(const Architecture&) {
  WeightNames n;
  n.tokens = "distilbert.embeddings.word_embeddings.weight";
  n.positions = "distilbert.embeddings.position_embeddings.weight";
  n.embedding_norm = "distilbert.embeddings.LayerNorm";
  n.block_prefix = "distilbert.transformer.layer.";
  n.attention_prefix = "attention.";
  n.qkv = {{"q_lin", WeightKind::query}, {"k_lin", WeightKind::key}, {"v_lin", WeightKind::value}};
  n.attention_output = "out_lin";
  n.feed_forward_prefix = "ffn.";
  n.up = "lin1";
  n.down = "lin2";
  n.norm_1 = "sa_layer_norm";
  n.norm_2 = "output_layer_norm";
  n.norm_place = NormPlace::behind;
  return n;
}

WeightNames dit_names(const Architecture&) {
  WeightNames n;
  n.tokens = "y_embedder.embedding_table.weight";
  n.block_prefix = "blocks.";
  n.attention_prefix = "attn.";
  n.qkv = {{"qkv", WeightKind::query}};
  n.attention_output = "proj";
  n.feed_forward_prefix = "mlp.";
  n.up = "fc1";
  n.down = "fc2";
  return n;
}

constexpr TypeReader encoder_types[] = {
    {"t5", read_t5, t5_names},
    {"mt5", read_t5, t5_names},
    {"bert", read_bert, bert_names},
    {"roberta", read_roberta, bert_names},
    {"xlm-roberta", read_roberta, bert_names},
    {"distilbert", read_distilbert, distilbert_names},
    {"dit", read_dit, dit_names},
};

}  // namespace

std::span<const TypeReader> encoder_readers() { return encoder_types; }

}  // namespace spillway::models
