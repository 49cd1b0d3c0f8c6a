#include "models/architecture/model_writer.hpp"

#include <numeric>

namespace spillway::models {

ModelWriter::ModelWriter(const Architecture& architecture) : names_(names_of(architecture)) {
  model_.architecture = architecture;
}

void ModelWriter::layer(std::string name, bool is_block) {
  here_.reset();
  model_.layers.push_back({std::move(name), {}, is_block});
}

void ModelWriter::weight(std::string name, WeightKind kind, std::vector<std::uint64_t> shape,
                         Cut cut) {
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

void ModelWriter::linear(const std::string& name, WeightKind kind, std::uint64_t inputs,
                         std::uint64_t outputs, Cut cut, bool bias) {
  if (names_.inputs_first) {
    weight(name + ".weight", kind, {inputs, outputs}, cut);
    model_.weights.back().inputs_first = true;
  } else {
    weight(name + ".weight", kind, {outputs, inputs}, cut);
  }
  const Cut bias_cut = cut == Cut::columns ? Cut::columns : Cut::none;
  if (bias) weight(name + ".bias", WeightKind::bias, {outputs}, bias_cut);
}

void ModelWriter::norm(const std::string& name) {
  norm(name, WeightKind::norm, model_.architecture.hidden);
}

void ModelWriter::norm(const std::string& name, WeightKind kind, std::uint64_t width) {
  const Architecture& a = model_.architecture;
  if (!a.norm_weights) return;
  weight(name + ".weight", kind, {width}, Cut::none);
  if (a.norm_bias) weight(name + ".bias", WeightKind::bias, {width}, Cut::none);
}

Model ModelWriter::take() {
  lend();
  model_.active_parameters = Params(model_.parameters.value() - idle_);
  return std::move(model_);
}

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
    weight(names_.head + ".weight", WeightKind::lm_head, {a.vocabulary, a.embedding_width},
           Cut::columns);
  if (a.head_bias) weight(names_.head + ".bias", WeightKind::bias, {a.vocabulary}, Cut::columns);
}

}  // namespace spillway::models
