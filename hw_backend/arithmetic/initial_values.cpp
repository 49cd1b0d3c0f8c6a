#include "hw_backend/arithmetic/execute.hpp"
#include "hw_backend/arithmetic/host_primitives.hpp"

#include "models/program/formats.hpp"
#include "scenarios/description/errors.hpp"

#include <cmath>

namespace spillway::hw_backend {

namespace {

/// The norm that a row of the matrix may be expected to have.
InitialRule magnitude_rule(const models::Model& model, std::uint32_t weight) {
  const std::uint32_t matrix = model.adapted(weight);
  const auto inputs = static_cast<float>(model.weights[matrix].inputs());
  return {initial_rule(model, matrix).deviation * std::sqrt(inputs), 0};
}

}  // namespace

InitialRule initial_rule(const models::Model& model, std::uint32_t weight) {
  using models::WeightKind;
  const WeightKind kind = model.weights.at(weight).kind;
  if (kind == WeightKind::norm || kind == WeightKind::query_norm || kind == WeightKind::key_norm)
    return {1, 0};
  if (kind == WeightKind::bias || kind == WeightKind::adapter_up) return {0, 0};
  if (kind == WeightKind::adapter_down)
    return {0, 1 / std::sqrt(3 * static_cast<float>(model.weights[weight].inputs()))};
  if (kind == WeightKind::adapter_magnitude) return magnitude_rule(model, weight);
  constexpr float deviation = 0.02f;
  if (kind != WeightKind::attention_output && kind != WeightKind::ffn_down &&
      kind != WeightKind::shared_down)
    return {0, deviation};
  // each block adds twice to the residual stream
  return {0, deviation / std::sqrt(2 * static_cast<float>(model.architecture.layers))};
}

RandomStream initial_stream(std::uint64_t seed, std::uint32_t weight) {
  RandomKey key;
  key.seed = seed;
  key.draw = weight;
  return random_stream(RandomUse::initial_values, key);
}

void initial_values(const models::Model& model, std::uint64_t seed, std::uint32_t weight,
                    std::uint64_t first, std::uint64_t count, Output values,
                    const WeightSlice& slice) {
  HostPrimitives().initialize(initial_rule(model, weight), initial_stream(seed, weight), slice,
                              first, count, values);
}

std::optional<PackedMatrix> packing_of(const Lowering& lowering, models::TensorId tensor) {
  const models::Workload& w = lowering.program->workload;
  const auto& weights = lowering.model->weights;
  if (w.base == description::BaseType::bf16 || tensor >= weights.size()) return std::nullopt;
  if (!lowering.shared.empty()) return lowering.shared[tensor];
  const models::NumberFormat format =
      models::Formats(w.precision, w.optimizer, w.states, w.adapters, w.base)
          .numbers(weights[tensor]);
  if (!format.is_packed()) return std::nullopt;
  const models::Tensor& whole = lowering.program->tensors[tensor];
  PackedMatrix matrix{{whole.elements, format.block, format.scale_block}, whole.elements};
  ENSURE(matrix.share.bytes() == whole.bytes.value(),
         whole.name + " is packed in other bytes than its format has");
  return matrix;
}

}  // namespace spillway::hw_backend
