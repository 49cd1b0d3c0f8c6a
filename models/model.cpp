#include "models/model.hpp"

#include "models/model_writer.hpp"
#include "scenarios/description/errors.hpp"

#include <algorithm>

namespace spillway::models {

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
    case WeightKind::query_latent:
      return "query_latent";
    case WeightKind::key_latent:
      return "key_latent";
    case WeightKind::key_value:
      return "key_value";
    case WeightKind::shared_gate:
      return "shared_gate";
    case WeightKind::shared_up:
      return "shared_up";
    case WeightKind::shared_down:
      return "shared_down";
    case WeightKind::shared_router:
      return "shared_router";
    case WeightKind::sinks:
      return "sinks";
    case WeightKind::query_norm:
      return "query_norm";
    case WeightKind::key_norm:
      return "key_norm";
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
