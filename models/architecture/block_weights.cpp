#include "models/architecture/model_writer.hpp"

namespace spillway::models {

/// Norms of queries or keys.
void ModelWriter::head_norm(const std::string& name, WeightKind kind, std::uint64_t heads) {
  const Architecture& a = here();
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
  const Architecture& a = here();
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
  if (a.index.chosen > 0 && a.here.own_index) token_index(prefix + "indexer.");
}

/// DeepSeek's names; whole on each tensor rank, as all ranks choose the same tokens.
void ModelWriter::token_index(const std::string& prefix) {
  const Architecture& a = here();
  const TokenIndex& index = a.index;
  linear(prefix + "wq_b", WeightKind::index_query, a.latent.query_rank,
         index.heads * index.head_dim, Cut::none, false);
  linear(prefix + "wk", WeightKind::index_key, a.hidden, index.head_dim, Cut::none, false);
  weight(prefix + "k_norm.weight", WeightKind::index_norm, {index.head_dim}, Cut::none);
  weight(prefix + "k_norm.bias", WeightKind::bias, {index.head_dim}, Cut::none);
  linear(prefix + "weights_proj", WeightKind::index_share, a.hidden, index.heads, Cut::none, false);
}

/// Kimi Linear's names, as its checkpoint has them.
void ModelWriter::channel_delta(const std::string& prefix) {
  const Architecture& a = here();
  const DeltaRule& d = a.delta;
  const auto project = [&](const char* name, WeightKind kind, std::uint64_t inputs,
                           std::uint64_t outputs,
                           Cut cut) { linear(prefix + name, kind, inputs, outputs, cut, false); };
  project("q_proj", WeightKind::query, a.hidden, d.key_width(), Cut::columns);
  project("k_proj", WeightKind::key, a.hidden, d.key_width(), Cut::columns);
  project("v_proj", WeightKind::value, a.hidden, d.value_width(), Cut::columns);
  for (const char* name : {"q_conv1d.weight", "k_conv1d.weight"})
    weight(prefix + name, WeightKind::convolution, {d.key_width(), 1, d.kernel}, Cut::columns);
  weight(prefix + "v_conv1d.weight", WeightKind::convolution, {d.value_width(), 1, d.kernel},
         Cut::columns);
  weight(prefix + "A_log", WeightKind::decay, {1, 1, d.value_heads, 1}, Cut::columns);
  project("f_a_proj", WeightKind::rates_latent, a.hidden, d.rank, Cut::none);
  project("f_b_proj", WeightKind::channel_rates, d.rank, d.key_width(), Cut::columns);
  weight(prefix + "dt_bias", WeightKind::decay, {d.key_width()}, Cut::columns);
  project("b_proj", WeightKind::rates, a.hidden, d.value_heads, Cut::columns);
  project("g_a_proj", WeightKind::gate_latent, a.hidden, d.rank, Cut::none);
  project("g_b_proj", WeightKind::output_gate, d.rank, d.value_width(), Cut::columns);
  norm(prefix + "o_norm", WeightKind::mixer_norm, d.value_dim);
  project("o_proj", WeightKind::attention_output, d.value_width(), a.hidden, Cut::rows);
}

/// Qwen3-Next's names, and those of Qwen 3.5, which keeps each projection by itself.
void ModelWriter::linear_attention(const std::string& prefix) {
  const Architecture& a = here();
  const DeltaRule& d = a.delta;
  if (d.rank > 0) return channel_delta(prefix);
  const std::uint64_t mixed = 2 * d.key_width() + d.value_width();
  const auto project = [&](const char* name, WeightKind kind, std::uint64_t outputs) {
    linear(prefix + name, kind, a.hidden, outputs, Cut::columns, false);
  };
  weight(prefix + "dt_bias", WeightKind::decay, {d.value_heads}, Cut::columns);
  weight(prefix + "A_log", WeightKind::decay, {d.value_heads}, Cut::columns);
  weight(prefix + "conv1d.weight", WeightKind::convolution, {mixed, 1, d.kernel}, Cut::columns);
  if (names_.delta_in_parts) {
    project("in_proj_qkv", WeightKind::query, mixed);
    project("in_proj_z", WeightKind::output_gate, d.value_width());
    project("in_proj_b", WeightKind::rates, d.value_heads);
    project("in_proj_a", WeightKind::rates, d.value_heads);
  } else {
    project("in_proj_qkvz", WeightKind::query, mixed + d.value_width());
    project("in_proj_ba", WeightKind::rates, 2 * d.value_heads);
  }
  norm(prefix + "norm", WeightKind::mixer_norm, d.value_dim);
  linear(prefix + "out_proj", WeightKind::attention_output, d.value_width(), a.hidden, Cut::rows,
         false);
}

/// Mamba 2's names.
void ModelWriter::state_space(const std::string& prefix) {
  const Architecture& a = here();
  const StateSpace& s = a.state_space;
  for (const char* name : {"dt_bias", "A_log", "D"})
    weight(prefix + name, WeightKind::decay, {s.heads}, Cut::columns);
  weight(prefix + "conv1d.weight", WeightKind::convolution, {s.mixed_width(), 1, s.kernel},
         Cut::columns);
  if (s.convolution_bias)
    weight(prefix + "conv1d.bias", WeightKind::bias, {s.mixed_width()}, Cut::columns);
  linear(prefix + "in_proj", WeightKind::query, a.hidden, s.width() + s.mixed_width() + s.heads,
         Cut::columns, s.bias);
  if (s.norm) weight(prefix + "norm.weight", WeightKind::mixer_norm, {s.width()}, Cut::columns);
  linear(prefix + "out_proj", WeightKind::attention_output, s.width(), a.hidden, Cut::rows,
         s.output_bias);
}

/// LFM2's names.
void ModelWriter::short_convolution(const std::string& prefix) {
  const Architecture& a = here();
  const ShortConvolution& c = a.short_convolution;
  weight(prefix + "conv.weight", WeightKind::convolution, {a.hidden, 1, c.kernel}, Cut::columns);
  if (c.bias) weight(prefix + "conv.bias", WeightKind::bias, {a.hidden}, Cut::columns);
  linear(prefix + "in_proj", WeightKind::query, a.hidden, 3 * a.hidden, Cut::columns, c.bias);
  linear(prefix + "out_proj", WeightKind::attention_output, a.hidden, a.hidden, Cut::rows, c.bias);
}

void ModelWriter::attention(const std::string& prefix, bool relative_positions) {
  const Architecture& a = here();
  const auto width = [&](WeightKind kind) {
    return kind == WeightKind::query ? (a.attention_gate ? 2 : 1) * a.query_width()
           : kind == WeightKind::key ? a.kv_width()
                                     : a.value_width();
  };
  if (a.attention_sinks) weight(prefix + names_.sinks, WeightKind::sinks, {a.heads}, Cut::columns);
  if (a.has_latents()) {
    latent_attention(prefix);
  } else if (names_.qkv.size() == 1) {
    linear(prefix + names_.qkv[0].name, WeightKind::query, a.hidden,
           a.query_width() + a.kv_width() + a.value_width(), Cut::columns, a.qkv_bias);
  } else {
    for (const NamedProjection& part : names_.qkv)
      if (part.kind != WeightKind::value || !a.here.keys_are_values)
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
  const Architecture& a = here();
  const bool both = a.gated_ffn && names_.gate.empty();
  // Beside experts its matrices are of the kinds of what every token uses.
  const bool beside = a.dense_beside_experts;
  const WeightKind gate = beside ? WeightKind::shared_gate : WeightKind::ffn_gate;
  const WeightKind up = beside ? WeightKind::shared_up : WeightKind::ffn_up;
  const WeightKind down = beside ? WeightKind::shared_down : WeightKind::ffn_down;
  if (a.gated_ffn && !both)
    linear(prefix + names_.gate, gate, a.hidden, a.ffn, Cut::columns, a.ffn_bias);
  linear(prefix + (a.gated_ffn ? names_.gated_up : names_.up), up, a.hidden,
         both ? 2 * a.ffn : a.ffn, Cut::columns, a.ffn_bias);
  linear(prefix + names_.down, down, a.ffn, a.hidden, Cut::rows, a.ffn_bias);
}

/// All experts in one tensor of each projection, `width` being what they read and write.
void ModelWriter::stacked_experts(const std::string& prefix, std::uint64_t width) {
  const Architecture& a = here();
  const ExpertNames& n = names_.experts;
  const auto stacked = [&](const std::string& name, WeightKind kind, std::uint64_t inputs,
                           std::uint64_t outputs, Cut cut) {
    const std::uint64_t rows = n.inputs_first ? inputs : outputs;
    weight(prefix + name, kind, {a.experts, rows, n.inputs_first ? outputs : inputs}, cut);
    if (a.expert_bias)
      weight(prefix + name + "_bias", WeightKind::bias, {a.experts, outputs},
             cut == Cut::columns ? Cut::columns : Cut::none);
  };
  const bool both = a.gated_ffn && n.gate.empty();
  if (a.gated_ffn && !both)
    stacked(n.gate, WeightKind::ffn_gate, width, a.expert_ffn, Cut::columns);
  stacked(n.up, WeightKind::ffn_up, width, both ? 2 * a.expert_ffn : a.expert_ffn, Cut::columns);
  stacked(n.down, WeightKind::ffn_down, a.expert_ffn, width, Cut::rows);
}

void ModelWriter::shared_experts(const std::string& prefix) {
  const Architecture& a = here();
  const ExpertNames& n = names_.experts;
  const std::string part = prefix + n.shared;
  const bool bias = a.expert_bias;
  const bool both = a.gated_ffn && n.shared_gate_matrix.empty();
  if (a.gated_ffn && !both)
    linear(part + n.shared_gate_matrix, WeightKind::shared_gate, a.hidden, a.shared_ffn,
           Cut::columns, bias);
  linear(part + n.shared_up, WeightKind::shared_up, a.hidden,
         both ? 2 * a.shared_ffn : a.shared_ffn, Cut::columns, bias);
  linear(part + n.shared_down, WeightKind::shared_down, a.shared_ffn, a.hidden, Cut::rows, bias);
  if (a.shared_gate)
    linear(prefix + n.shared_gate, WeightKind::shared_router, a.hidden, 1, Cut::none, false);
}

/// Matrices of one expert, `width` being what it reads and writes.
void ModelWriter::expert(const std::string& prefix, std::uint64_t width) {
  const Architecture& a = here();
  const ExpertNames& n = names_.experts;
  const bool bias = a.expert_bias;
  if (a.gated_ffn)
    linear(prefix + n.gate, WeightKind::ffn_gate, width, a.expert_ffn, Cut::columns, bias);
  linear(prefix + n.down, WeightKind::ffn_down, a.expert_ffn, width, Cut::rows, bias);
  linear(prefix + n.up, WeightKind::ffn_up, width, a.expert_ffn, Cut::columns, bias);
}

void ModelWriter::experts(const std::string& block) {
  const Architecture& a = here();
  const ExpertNames& n = names_.experts;
  const std::string prefix = block + n.prefix;
  linear(prefix + n.router, WeightKind::router, a.hidden, a.experts, Cut::none, a.router_bias);
  if (a.router_scales) {
    weight(prefix + n.router_norm, WeightKind::router_norm, {a.hidden}, Cut::none);
    weight(prefix + n.router_scale, WeightKind::router_scale, {a.experts}, Cut::none);
  }
  if (a.expert_latent > 0) {
    linear(prefix + n.latent_in, WeightKind::latent_in, a.hidden, a.expert_latent, Cut::none,
           a.ffn_bias);
    linear(prefix + n.latent_out, WeightKind::latent_out, a.expert_latent, a.hidden, Cut::none,
           a.ffn_bias);
  }
  const std::uint64_t before = model_.parameters.value();
  const std::size_t first = model_.weights.size();
  const std::uint64_t width = a.expert_latent > 0 ? a.expert_latent : a.hidden;
  if (n.stacked) stacked_experts(prefix + n.inside, width);
  const auto routed = [&](std::size_t begin, std::uint64_t number) {
    for (std::size_t i = begin; i < model_.weights.size(); ++i) {
      model_.weights[i].routed = true;
      model_.weights[i].expert = static_cast<std::uint32_t>(number);
    }
  };
  if (n.stacked) routed(first, 0);
  for (std::uint64_t i = 0; !n.stacked && i < a.experts; ++i) {
    const std::size_t begin = model_.weights.size();
    expert(prefix + n.inside + std::to_string(i) + ".", width);
    routed(begin, i);
  }
  const std::uint64_t all = model_.parameters.value() - before;
  idle_ += all / a.experts * (a.experts - a.experts_per_token);
  if (a.shared_ffn > 0) shared_experts(n.shared_outside ? block : prefix);
}

void ModelWriter::first_norms(const std::string& block) {
  if (here().here.mixer == Mixer::none) return;
  norm(block + names_.norm_1);
  if (here().form == BlockForm::sandwich) norm(block + names_.norm_1_after);
}

void ModelWriter::second_norms(const std::string& block) {
  const Architecture& a = here();
  if (a.form == BlockForm::parallel || !a.here.feeds) return;
  norm(block + names_.norm_2);
  if (a.dense_beside_experts)
    for (const std::string* name :
         {&names_.dense_after, &names_.experts_before, &names_.experts_after})
      norm(block + *name);
  if (a.form == BlockForm::sandwich) norm(block + names_.norm_2_after);
}

void ModelWriter::mix(const std::string& block) {
  const Mixer mixer = here().here.mixer;
  if (attends(mixer)) attention(block + names_.attention_prefix, false);
  if (has_state_space(mixer)) state_space(block + names_.state_space_prefix);
  if (mixer == Mixer::short_convolution) short_convolution(block + names_.convolution_prefix);
  if (mixer == Mixer::delta_rule) linear_attention(block + names_.delta_prefix);
}

void ModelWriter::feed(const std::string& block) {
  const Architecture& a = here();
  if (!a.here.feeds) return;
  if (!a.here.experts || a.dense_beside_experts) feed_forward(block + names_.feed_forward_prefix);
  if (a.here.experts) experts(block);
}

void ModelWriter::block(std::uint64_t index) {
  const std::string number = std::to_string(index);
  layer("layers." + number, true);
  here_ = model_.architecture.of_block(model_.architecture.block(index));
  const std::string prefix = names_.block_prefix + number + ".";
  const NormPlace place = names_.norm_place;
  if (place == NormPlace::first || place == NormPlace::beginning) first_norms(prefix);
  if (place == NormPlace::beginning) second_norms(prefix);
  mix(prefix);
  if (place == NormPlace::behind) first_norms(prefix);
  if (place == NormPlace::first) second_norms(prefix);
  feed(prefix);
  if (place == NormPlace::last) first_norms(prefix);
  if (place == NormPlace::last || place == NormPlace::behind) second_norms(prefix);
}

}  // namespace spillway::models
