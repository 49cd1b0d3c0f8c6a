#include "models/weight_names.hpp"

#include "scenarios/description/errors.hpp"

namespace spillway::models {

namespace {

WeightNames llama_names() {
  WeightNames n;
  n.tokens = "model.embed_tokens.weight";
  n.block_prefix = "model.layers.";
  n.attention_prefix = "self_attn.";
  n.qkv = {
      {"q_proj", WeightKind::query}, {"k_proj", WeightKind::key}, {"v_proj", WeightKind::value}};
  n.attention_output = "o_proj";
  n.feed_forward_prefix = "mlp.";
  n.gate = "gate_proj";
  n.gated_up = n.up = "up_proj";
  n.down = "down_proj";
  n.norm_1 = "input_layernorm";
  n.norm_2 = "post_attention_layernorm";
  n.final_norm = "model.norm";
  return n;
}

WeightNames opt_names() {
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

WeightNames gpt2_names() {
  WeightNames n;
  n.tokens = "transformer.wte.weight";
  n.positions = "transformer.wpe.weight";
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
  n.inputs_first = true;
  return n;
}

WeightNames t5_names() {
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

WeightNames bert_names() {
  WeightNames n;
  n.tokens = "bert.embeddings.word_embeddings.weight";
  n.positions = "bert.embeddings.position_embeddings.weight";
  n.token_types = "bert.embeddings.token_type_embeddings.weight";
  n.embedding_norm = "bert.embeddings.LayerNorm";
  n.block_prefix = "bert.encoder.layer.";
  n.qkv = {{"attention.self.query", WeightKind::query},
           {"attention.self.key", WeightKind::key},
           {"attention.self.value", WeightKind::value}};
  n.attention_output = "attention.output.dense";
  n.up = "intermediate.dense";
  n.down = "output.dense";
  n.norm_1 = "attention.output.LayerNorm";
  n.norm_2 = "output.LayerNorm";
  n.norm_place = NormPlace::behind;
  n.pooler = "bert.pooler.dense";
  return n;
}

WeightNames dit_names() {
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

}  // namespace

WeightNames names_of(const Architecture& architecture) {
  const std::string& type = architecture.model_type;
  if (type == "opt") return opt_names();
  if (type == "gpt2") return gpt2_names();
  if (type == "t5") return t5_names();
  if (type == "bert") return bert_names();
  if (type == "dit") return dit_names();
  ENSURE(architecture.gated_ffn && !architecture.layer_norm, "no weight names for " + type);
  return llama_names();
}

}  // namespace spillway::models
