#include "models/formats.hpp"

namespace spillway::models {

using description::AdapterType;
using description::BaseType;

namespace {

constexpr std::uint64_t nf4_block = 64, nf4_scale_block = 256;  // QLoRA (2023), 3

/// A matrix of a frozen block.
NumberFormat packed(BaseType base, const WeightTensor& matrix) {
  if (base == BaseType::int8) return {ElementType::int8, matrix.inputs()};
  return {ElementType::nf4, nf4_block, ElementType::int8, nf4_scale_block};
}

}  // namespace

std::uint64_t WeightFormats::state_bytes(std::uint64_t elements) const {
  std::uint64_t bytes = 0;
  for (const StateFormat& state : states) bytes += state.format.bytes(elements);
  return bytes;
}

WeightFormats formats_of(description::Precision precision, description::OptimizerKind optimizer,
                         description::StateWidth states) {
  const ElementType type = description::kernel_type(precision);
  const bool wide = states == description::StateWidth::fp32;
  WeightFormats formats{type, NumberFormat(type), description::parameter_type(precision), {}};
  if (formats.parameter != formats.weight && wide)
    formats.states.push_back({StateKind::master, ElementType::fp32});
  if (optimizer != description::OptimizerKind::adam) return formats;
  const NumberFormat state = wide ? ElementType::fp32 : ElementType::bf16;
  formats.states.push_back({StateKind::momentum, state});
  formats.states.push_back({StateKind::variance, state});
  return formats;
}

Formats::Formats(description::Precision precision, description::OptimizerKind optimizer,
                 description::StateWidth states, AdapterType adapters, BaseType base)
    : weights_(formats_of(precision, optimizer, states)), adapters_(weights_), base_(base) {
  if (adapters == AdapterType::bf16) return;
  adapters_.weight = fp32_numbers;
  adapters_.gradient = fp32_numbers;
  adapters_.parameter = fp32_numbers;
  if (adapters_.has_master()) adapters_.states.erase(adapters_.states.begin());
}

Formats::Formats(const description::Training& training)
    : Formats(training.precision, training.optimizer, training.optimizer_state,
              training.lora.adapters, training.lora.base) {}

NumberFormat Formats::numbers(const WeightTensor& weight) const {
  if (weight.is_adapter()) return adapters_.weight;
  const bool packs = weight.frozen && base_ != BaseType::bf16 && weight.multiplies_in_block();
  return packs ? packed(base_, weight) : weights_.weight;
}

WeightFormats Formats::of(const WeightTensor& weight) const {
  if (weight.is_adapter()) return adapters_;
  if (!weight.frozen) return weights_;
  return {numbers(weight), std::nullopt, numbers(weight), {}};
}

const WeightFormats& Formats::trained(const Model& model) const {
  return model.has_adapters() ? adapters_ : weights_;
}

WeightFormats formats_of(const description::Training& training) {
  const Formats formats(training);
  return description::has_adapters(training.method) ? formats.adapters_ : formats.weights_;
}

}  // namespace spillway::models
