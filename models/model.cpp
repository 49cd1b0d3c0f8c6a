#include "models/model.hpp"

#include "models/model_writer.hpp"
#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <iterator>

namespace spillway::models {

namespace {

// In the order of WeightKind.
constexpr const char* kind_names[] = {
    "embedding",        "positions",    "query",        "key",           "value",
    "attention_output", "ffn_gate",     "ffn_up",       "ffn_down",      "router",
    "lm_head",          "other_matrix", "query_latent", "key_latent",    "key_value",
    "shared_gate",      "shared_up",    "shared_down",  "shared_router", "sinks",
    "router_norm",      "router_scale", "index_query",  "index_key",     "index_norm",
    "index_share",      "latent_in",    "latent_out",   "output_gate",   "rates",
    "convolution",      "decay",        "mixer_norm",   "bias",          "query_norm",
    "key_norm",         "norm"};

}  // namespace

const char* to_string(WeightKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  ENSURE(index < std::size(kind_names), "unknown WeightKind");
  return kind_names[index];
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
