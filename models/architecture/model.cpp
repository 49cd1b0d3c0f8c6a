#include "models/architecture/model.hpp"

#include "models/architecture/model_writer.hpp"
#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <iterator>

namespace spillway::models {

namespace {

// In the order of WeightKind.
constexpr const char* kind_names[] = {"embedding",     "positions",     "query",
                                      "key",           "value",         "attention_output",
                                      "ffn_gate",      "ffn_up",        "ffn_down",
                                      "router",        "lm_head",       "other_matrix",
                                      "query_latent",  "key_latent",    "key_value",
                                      "shared_gate",   "shared_up",     "shared_down",
                                      "shared_router", "sinks",         "router_norm",
                                      "router_scale",  "index_query",   "index_key",
                                      "index_norm",    "index_share",   "latent_in",
                                      "latent_out",    "output_gate",   "gate_latent",
                                      "rates",         "channel_rates", "rates_latent",
                                      "convolution",   "decay",         "mixer_norm",
                                      "adapter_down",  "adapter_up",    "adapter_magnitude",
                                      "bias",          "query_norm",    "key_norm",
                                      "norm"};

}  // namespace

const char* to_string(WeightKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  ENSURE(index < std::size(kind_names), "unknown WeightKind");
  return kind_names[index];
}

bool WeightTensor::multiplies_in_attention() const {
  switch (kind) {
    case WeightKind::query:
    case WeightKind::key:
    case WeightKind::value:
    case WeightKind::attention_output:
    case WeightKind::query_latent:
    case WeightKind::key_latent:
    case WeightKind::key_value:
      return true;
    default:
      return false;
  }
}

bool WeightTensor::multiplies_in_block() const {
  if (multiplies_in_attention()) return true;
  switch (kind) {
    case WeightKind::ffn_gate:
    case WeightKind::ffn_up:
    case WeightKind::ffn_down:
    case WeightKind::shared_gate:
    case WeightKind::shared_up:
    case WeightKind::shared_down:
    case WeightKind::latent_in:
    case WeightKind::latent_out:
    case WeightKind::output_gate:
    case WeightKind::gate_latent:
    case WeightKind::channel_rates:
    case WeightKind::rates_latent:
      return true;
    default:
      return false;
  }
}

std::uint64_t WeightTensor::inputs() const { return shape[shape.size() - (inputs_first ? 2 : 1)]; }
std::uint64_t WeightTensor::outputs() const { return shape[shape.size() - (inputs_first ? 1 : 2)]; }

bool Model::has_adapters() const {
  return std::any_of(weights.begin(), weights.end(),
                     [](const WeightTensor& weight) { return weight.is_adapter(); });
}

std::uint32_t Model::first_trained_layer() const {
  for (std::uint32_t layer = 0; layer < layers.size(); ++layer)
    for (const std::uint32_t weight : used_by(layer))
      if (!weights[weight].frozen) return layer;
  return static_cast<std::uint32_t>(layers.size());
}

Params Model::trained_parameters() const {
  Params trained;
  for (const WeightTensor& weight : weights)
    if (!weight.frozen) trained += weight.parameters;
  return trained;
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

std::uint32_t Model::adapted(std::uint32_t weight) const {
  ENSURE(weights.at(weight).is_adapter(), weights.at(weight).name + " is of no adapter");
  std::uint32_t matrix = weight;  // adapters stand behind their matrix, and at most its bias
  while (weights.at(matrix).is_adapter() || !weights[matrix].adapter) --matrix;
  return matrix;
}

Params Model::largest_tensor() const {
  Params largest;
  for (const WeightTensor& weight : weights) largest = std::max(largest, weight.parameters);
  return largest;
}

bool Model::stacks_experts() const {
  return std::any_of(weights.begin(), weights.end(),
                     [](const WeightTensor& weight) { return weight.is_stacked(); });
}

}  // namespace spillway::models
