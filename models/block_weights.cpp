#include "models/model_writer.hpp"

namespace spillway::models {

/// Norms of queries or keys.
void ModelWriter::head_norm(const std::string& name, WeightKind kind, std::uint64_t heads) {
  const Architecture& a = model_.architecture;
  switch (a.head_norm) {
    case HeadNorm::none:
      return;
    case HeadNorm::per_head:
      return norm(name, kind, a.head_dim);
    case HeadNorm::each_head:
      return weight(name + ".weight", kind, {heads, a.head_dim}, Cut::columns);
    case HeadNorm::whole:
      return weight(name + ".weight", kind, {heads * a.head_dim}, Cut::columns);
  }
}

/// DeepSeek's names; all that is narrow is whole on each tensor rank.
void ModelWriter::latent_attention(const std::string& prefix) {
  const Architecture& a = model_.architecture;
  const LatentAttention& l = a.latent;
  if (l.query_rank == 0) {
    linear(prefix + "q_proj", WeightKind::query, a.hidden, a.query_width(), Cut::columns, false);
  } else {
    linear(prefix + "q_a_proj", WeightKind::query_latent, a.hidden, l.query_rank, Cut::none,
           a.qkv_bias);
    norm(prefix + "q_a_layernorm", WeightKind::query_norm, l.query_rank);
    linear(prefix + "q_b_proj", WeightKind::query, l.query_rank, a.query_width(), Cut::columns,
           false);
  }
  linear(prefix + "kv_a_proj_with_mqa", WeightKind::key_latent, a.hidden, l.kv_rank + l.rotated,
         Cut::none, a.qkv_bias);
  norm(prefix + "kv_a_layernorm", WeightKind::key_norm, l.kv_rank);
  linear(prefix + "kv_b_proj", WeightKind::key_value, l.kv_rank,
         a.heads * l.unrotated + a.value_width(), Cut::columns, false);
}

void ModelWriter::attention(const std::string& prefix, bool relative_positions) {
  const Architecture& a = model_.architecture;
  const auto width = [&](WeightKind kind) {
    return kind == WeightKind::query ? a.query_width()
           : kind == WeightKind::key ? a.kv_width()
                                     : a.value_width();
  };
  if (a.attention_sinks) weight(prefix + "sinks", WeightKind::sinks, {a.heads}, Cut::columns);
  if (a.has_latents()) {
    latent_attention(prefix);
  } else if (names_.qkv.size() == 1) {
    linear(prefix + names_.qkv[0].name, WeightKind::query, a.hidden,
           a.query_width() + a.kv_width() + a.value_width(), Cut::columns, a.qkv_bias);
  } else {
    for (const NamedProjection& part : names_.qkv)
      linear(prefix + part.name, part.kind, a.hidden, width(part.kind), Cut::columns, a.qkv_bias);
  }
  head_norm(prefix + names_.query_norm, WeightKind::query_norm, a.heads);
  head_norm(prefix + names_.key_norm, WeightKind::key_norm, a.kv_heads);
  linear(prefix + names_.attention_output, WeightKind::attention_output, a.attention_width(),
         a.hidden, Cut::rows, a.attention_output_bias);
  if (relative_positions)
    weight(prefix + "relative_attention_bias.weight", WeightKind::positions,
           {a.relative_position_buckets, a.heads}, Cut::none);
}

void ModelWriter::feed_forward(const std::string& prefix) {
  const Architecture& a = model_.architecture;
  const bool both = a.gated_ffn && names_.gate.empty();
  if (a.gated_ffn && !both)
    linear(prefix + names_.gate, WeightKind::ffn_gate, a.hidden, a.ffn, Cut::columns, a.ffn_bias);
  linear(prefix + (a.gated_ffn ? names_.gated_up : names_.up), WeightKind::ffn_up, a.hidden,
         both ? 2 * a.ffn : a.ffn, Cut::columns, a.ffn_bias);
  linear(prefix + names_.down, WeightKind::ffn_down, a.ffn, a.hidden, Cut::rows, a.ffn_bias);
}

/// All experts in one tensor: [experts, inputs, outputs], as gpt_oss and llama4 keep them.
void ModelWriter::stacked_experts(const std::string& prefix) {
  const Architecture& a = model_.architecture;
  const ExpertNames& n = names_.experts;
  const auto stacked = [&](const std::string& name, WeightKind kind, std::uint64_t inputs,
                           std::uint64_t outputs, Cut cut) {
    weight(prefix + name, kind, {a.experts, inputs, outputs}, cut);
    if (a.expert_bias)
      weight(prefix + name + "_bias", WeightKind::bias, {a.experts, outputs},
             cut == Cut::columns ? Cut::columns : Cut::none);
  };
  const std::uint64_t ways = n.gate.empty() ? 2 : 1;
  if (!n.gate.empty()) stacked(n.gate, WeightKind::ffn_gate, a.hidden, a.expert_ffn, Cut::columns);
  stacked(n.up, WeightKind::ffn_up, a.hidden, ways * a.expert_ffn, Cut::columns);
  stacked(n.down, WeightKind::ffn_down, a.expert_ffn, a.hidden, Cut::rows);
}

void ModelWriter::shared_experts(const std::string& prefix) {
  const Architecture& a = model_.architecture;
  const ExpertNames& n = names_.experts;
  const std::string part = prefix + n.shared;
  const bool bias = a.expert_bias;
  linear(part + "gate_proj", WeightKind::shared_gate, a.hidden, a.shared_ffn, Cut::columns, bias);
  linear(part + "up_proj", WeightKind::shared_up, a.hidden, a.shared_ffn, Cut::columns, bias);
  linear(part + "down_proj", WeightKind::shared_down, a.shared_ffn, a.hidden, Cut::rows, bias);
  if (a.shared_gate)
    linear(prefix + n.shared_gate, WeightKind::shared_router, a.hidden, 1, Cut::none, false);
}

void ModelWriter::experts(const std::string& block) {
  const Architecture& a = model_.architecture;
  const ExpertNames& n = names_.experts;
  const std::string prefix = block + n.prefix;
  linear(prefix + n.router, WeightKind::router, a.hidden, a.experts, Cut::none, a.router_bias);
  const std::uint64_t before = model_.parameters.value();
  if (n.stacked) stacked_experts(prefix + n.inside);
  for (std::uint64_t expert = 0; !n.stacked && expert < a.experts; ++expert) {
    const std::string part = prefix + n.inside + std::to_string(expert) + ".";
    const bool bias = a.expert_bias;
    linear(part + n.gate, WeightKind::ffn_gate, a.hidden, a.expert_ffn, Cut::columns, bias);
    linear(part + n.down, WeightKind::ffn_down, a.expert_ffn, a.hidden, Cut::rows, bias);
    linear(part + n.up, WeightKind::ffn_up, a.hidden, a.expert_ffn, Cut::columns, bias);
  }
  const std::uint64_t all = model_.parameters.value() - before;
  idle_ += all / a.experts * (a.experts - a.experts_per_token);
  if (a.shared_ffn > 0) shared_experts(prefix);
}

void ModelWriter::block(std::uint64_t index) {
  const Architecture& a = model_.architecture;
  const std::string number = std::to_string(index);
  layer("layers." + number, true);
  const std::string prefix = names_.block_prefix + number + ".";
  const bool sandwich = a.form == BlockForm::sandwich;
  const auto first_norms = [&] {
    norm(prefix + names_.norm_1);
    if (sandwich) norm(prefix + names_.norm_1_after);
  };
  const auto second_norms = [&] {
    if (a.form == BlockForm::parallel) return;
    norm(prefix + names_.norm_2);
    if (sandwich) norm(prefix + names_.norm_2_after);
  };
  const NormPlace place = names_.norm_place;
  if (place == NormPlace::first || place == NormPlace::beginning) first_norms();
  if (place == NormPlace::beginning) second_norms();
  attention(prefix + names_.attention_prefix, false);
  if (place == NormPlace::behind) first_norms();
  if (place == NormPlace::first) second_norms();
  if (a.block(index).experts)
    experts(prefix);
  else
    feed_forward(prefix + names_.feed_forward_prefix);
  if (place == NormPlace::last) first_norms();
  if (place == NormPlace::last || place == NormPlace::behind) second_norms();
}

}  // namespace spillway::models
