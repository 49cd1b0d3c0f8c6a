#include "models/model.hpp"

#include "models/weight_names.hpp"
#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <numeric>

namespace spillway::models {

namespace {

/// Appends layers and their weights in model order.
class ModelWriter {
 public:
  explicit ModelWriter(const Architecture& architecture) : names_(names_of(architecture)) {
    model_.architecture = architecture;
  }

  void layer(std::string name, bool is_block) {
    model_.layers.push_back({std::move(name), {}, is_block});
  }

  void weight(std::string name, WeightKind kind, std::vector<std::uint64_t> shape, Cut cut) {
    WeightTensor tensor;
    tensor.name = std::move(name);
    tensor.kind = kind;
    tensor.parameters = Params(std::accumulate(shape.begin(), shape.end(), std::uint64_t{1},
                                               std::multiplies<std::uint64_t>()));
    tensor.shape = std::move(shape);
    tensor.layer = static_cast<std::uint32_t>(model_.layers.size() - 1);
    tensor.cut = cut;
    model_.layers.back().weights.push_back(static_cast<std::uint32_t>(model_.weights.size()));
    model_.parameters += tensor.parameters;
    model_.weights.push_back(std::move(tensor));
  }

  /// A matrix and, if `bias`, its vector right behind it. Conv1D of gpt2 keeps inputs first.
  void linear(const std::string& name, WeightKind kind, std::uint64_t inputs, std::uint64_t outputs,
              Cut cut, bool bias) {
    if (names_.inputs_first) {
      weight(name + ".weight", kind, {inputs, outputs}, cut);
      model_.weights.back().inputs_first = true;
    } else {
      weight(name + ".weight", kind, {outputs, inputs}, cut);
    }
    const Cut bias_cut = cut == Cut::columns ? Cut::columns : Cut::none;
    if (bias) weight(name + ".bias", WeightKind::bias, {outputs}, bias_cut);
  }

  void norm(const std::string& name) {
    weight(name + ".weight", WeightKind::norm, {model_.architecture.hidden}, Cut::none);
    if (model_.architecture.layer_norm)
      weight(name + ".bias", WeightKind::bias, {model_.architecture.hidden}, Cut::none);
  }

  void attention(const std::string& prefix, bool relative_positions) {
    const Architecture& a = model_.architecture;
    const std::uint64_t q = a.query_width();
    const std::uint64_t kv = a.kv_width();
    if (names_.qkv.size() == 1) {
      linear(prefix + names_.qkv[0].name, WeightKind::query, a.hidden, q + 2 * kv, Cut::columns,
             a.qkv_bias);
    } else {
      for (const NamedProjection& part : names_.qkv)
        linear(prefix + part.name, part.kind, a.hidden, part.kind == WeightKind::query ? q : kv,
               Cut::columns, a.qkv_bias);
    }
    linear(prefix + names_.attention_output, WeightKind::attention_output, q, a.hidden, Cut::rows,
           a.attention_output_bias);
    if (relative_positions)
      weight(prefix + "relative_attention_bias.weight", WeightKind::positions,
             {a.relative_position_buckets, a.heads}, Cut::none);
  }

  void feed_forward(const std::string& prefix) {
    const Architecture& a = model_.architecture;
    if (a.gated_ffn)
      linear(prefix + names_.gate, WeightKind::ffn_gate, a.hidden, a.ffn, Cut::columns, a.ffn_bias);
    linear(prefix + (a.gated_ffn ? names_.gated_up : names_.up), WeightKind::ffn_up, a.hidden,
           a.ffn, Cut::columns, a.ffn_bias);
    linear(prefix + names_.down, WeightKind::ffn_down, a.ffn, a.hidden, Cut::rows, a.ffn_bias);
  }

  void experts(const std::string& prefix) {
    const Architecture& a = model_.architecture;
    linear(prefix + "gate", WeightKind::router, a.hidden, a.experts, Cut::none, false);
    for (std::uint64_t expert = 0; expert < a.experts; ++expert) {
      const std::string part = prefix + "experts." + std::to_string(expert) + ".";
      linear(part + "w1", WeightKind::ffn_gate, a.hidden, a.ffn, Cut::columns, false);
      linear(part + "w2", WeightKind::ffn_down, a.ffn, a.hidden, Cut::rows, false);
      linear(part + "w3", WeightKind::ffn_up, a.hidden, a.ffn, Cut::columns, false);
    }
  }

  void embedding();
  void diffusion_embedding();
  void diffusion_block(std::uint64_t index);
  void diffusion_head();
  void block(std::uint64_t index);
  void t5_block(const std::string& stack, std::uint64_t index, bool decoder);
  void head();
  Model take() {
    lend();
    return std::move(model_);
  }

 private:
  /// A tied head has the embedding's matrix; all blocks of a T5 stack add the bias that the table
  /// of the stack's first block gives.
  void lend();

  WeightNames names_;
  Model model_;
};

void ModelWriter::lend() {
  std::vector<Layer>& layers = model_.layers;
  if (model_.architecture.tied_embeddings)
    layers.back().borrowed.push_back(layers.front().weights.front());
  if (model_.architecture.relative_position_buckets == 0) return;
  std::size_t first = 0;  // of the stack
  for (std::size_t i = 1; i < layers.size(); ++i) {
    if (!layers[i].is_block) continue;
    if (!layers[i - 1].is_block) first = i;
    if (first == i) continue;
    for (const std::uint32_t weight : layers[first].weights)
      if (model_.weights[weight].kind == WeightKind::positions)
        layers[i].borrowed.push_back(weight);
  }
}

void ModelWriter::embedding() {
  const Architecture& a = model_.architecture;
  layer("embedding", false);
  weight(names_.tokens, WeightKind::embedding, {a.vocabulary, a.embedding_width}, Cut::columns);
  if (a.learned_positions > 0)
    weight(names_.positions, WeightKind::positions, {a.learned_positions, a.hidden}, Cut::none);
  if (a.token_types > 0)
    weight(names_.token_types, WeightKind::other_matrix, {a.token_types, a.hidden}, Cut::none);
  if (a.embedding_norm) norm(names_.embedding_norm);
  if (a.embedding_width != a.hidden)
    linear(names_.project_in, WeightKind::other_matrix, a.embedding_width, a.hidden, Cut::none,
           false);
}

/// Widths of a time step's sinusoids, as DiT has them.
constexpr std::uint64_t frequencies = 256;

void ModelWriter::diffusion_embedding() {
  const Architecture& a = model_.architecture;
  const auto other = WeightKind::other_matrix;
  layer("embedding", false);
  linear("x_embedder.proj", other, a.patch_inputs, a.hidden, Cut::none, true);
  linear("t_embedder.mlp.0", other, frequencies, a.hidden, Cut::none, true);
  linear("t_embedder.mlp.2", other, a.hidden, a.hidden, Cut::none, true);
  weight(names_.tokens, WeightKind::positions, {a.labels, a.hidden}, Cut::none);
}

void ModelWriter::diffusion_block(std::uint64_t index) {
  const Architecture& a = model_.architecture;
  const std::string number = std::to_string(index);
  layer("layers." + number, true);
  const std::string prefix = names_.block_prefix + number + ".";
  attention(prefix + names_.attention_prefix, false);
  feed_forward(prefix + names_.feed_forward_prefix);
  linear(prefix + "adaLN_modulation.1", WeightKind::other_matrix, a.hidden, 6 * a.hidden, Cut::none,
         true);
}

void ModelWriter::diffusion_head() {
  const Architecture& a = model_.architecture;
  layer("head", false);
  linear("final_layer.linear", WeightKind::other_matrix, a.hidden, a.patch_outputs, Cut::none,
         true);
  linear("final_layer.adaLN_modulation.1", WeightKind::other_matrix, a.hidden, 2 * a.hidden,
         Cut::none, true);
}

void ModelWriter::block(std::uint64_t index) {
  const Architecture& a = model_.architecture;
  const std::string number = std::to_string(index);
  layer("layers." + number, true);
  const std::string prefix = names_.block_prefix + number + ".";
  if (names_.norm_place == NormPlace::first) norm(prefix + names_.norm_1);
  attention(prefix + names_.attention_prefix, false);
  if (names_.norm_place == NormPlace::behind) norm(prefix + names_.norm_1);
  if (names_.norm_place == NormPlace::first) norm(prefix + names_.norm_2);
  if (a.experts > 0)
    experts(prefix + "block_sparse_moe.");
  else
    feed_forward(prefix + names_.feed_forward_prefix);
  if (names_.norm_place == NormPlace::last) norm(prefix + names_.norm_1);
  if (names_.norm_place != NormPlace::first) norm(prefix + names_.norm_2);
}

void ModelWriter::t5_block(const std::string& stack, std::uint64_t index, bool decoder) {
  const std::string number = std::to_string(index);
  layer((decoder ? "layers." : "encoder.") + number, true);
  const std::string prefix = stack + ".block." + number + ".layer.";
  attention(prefix + "0.SelfAttention.", index == 0);
  norm(prefix + "0.layer_norm");
  if (decoder) {
    attention(prefix + "1.EncDecAttention.", false);
    norm(prefix + "1.layer_norm");
  }
  const std::string last = prefix + (decoder ? "2." : "1.");
  feed_forward(last + "DenseReluDense.");
  norm(last + "layer_norm");
}

void ModelWriter::head() {
  const Architecture& a = model_.architecture;
  layer("head", false);
  if (a.final_norm) norm(names_.final_norm);
  if (a.embedding_width != a.hidden)
    linear(names_.project_out, WeightKind::other_matrix, a.hidden, a.embedding_width, Cut::none,
           false);
  if (a.pooler)
    linear(names_.pooler, WeightKind::other_matrix, a.hidden, a.hidden, Cut::none, true);
  if (!a.tied_embeddings)
    weight("lm_head.weight", WeightKind::lm_head, {a.vocabulary, a.embedding_width}, Cut::columns);
}

}  // namespace

const char* to_string(WeightKind kind) {
  switch (kind) {
    case WeightKind::embedding:
      return "embedding";
    case WeightKind::positions:
      return "positions";
    case WeightKind::query:
      return "query";
    case WeightKind::key:
      return "key";
    case WeightKind::value:
      return "value";
    case WeightKind::attention_output:
      return "attention_output";
    case WeightKind::ffn_gate:
      return "ffn_gate";
    case WeightKind::ffn_up:
      return "ffn_up";
    case WeightKind::ffn_down:
      return "ffn_down";
    case WeightKind::router:
      return "router";
    case WeightKind::lm_head:
      return "lm_head";
    case WeightKind::other_matrix:
      return "other_matrix";
    case WeightKind::bias:
      return "bias";
    case WeightKind::norm:
      return "norm";
  }
  ENSURE(false, "unknown WeightKind");
  return "";
}

Model build_model(const Architecture& architecture) {
  ModelWriter writer(architecture);
  if (architecture.is_diffusion()) {
    writer.diffusion_embedding();
    for (std::uint64_t i = 0; i < architecture.layers; ++i) writer.diffusion_block(i);
    writer.diffusion_head();
    return writer.take();
  }
  writer.embedding();
  if (architecture.stack == Stack::encoder_decoder) {
    for (std::uint64_t i = 0; i < architecture.encoder_layers; ++i)
      writer.t5_block("encoder", i, false);
    writer.layer("encoder_norm", false);
    writer.norm("encoder.final_layer_norm");
    for (std::uint64_t i = 0; i < architecture.layers; ++i) writer.t5_block("decoder", i, true);
  } else {
    for (std::uint64_t i = 0; i < architecture.layers; ++i) writer.block(i);
  }
  writer.head();
  return writer.take();
}

std::vector<std::uint32_t> Model::used_by(std::uint32_t layer) const {
  std::vector<std::uint32_t> used = layers.at(layer).weights;
  const std::vector<std::uint32_t>& borrowed = layers[layer].borrowed;
  used.insert(used.end(), borrowed.begin(), borrowed.end());
  return used;
}

Params Model::largest_tensor() const {
  Params largest;
  for (const WeightTensor& weight : weights) largest = std::max(largest, weight.parameters);
  return largest;
}

}  // namespace spillway::models
