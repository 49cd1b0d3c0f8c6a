#include "models/program/formats.hpp"

namespace spillway::models {

using description::AdapterType;
using description::BaseType;

namespace {

constexpr std::uint64_t nf4_block = 64, nf4_scale_block = 256;  // QLoRA (2023), 3
// of bitsandbytes 0.44 and later; before, a block had 2048 numbers
constexpr NumberFormat state_in_8_bits(ElementType::int8, 256);
constexpr std::uint64_t least_in_8_bits = 4096;  // min_8bit_size

/// A matrix of a frozen block.
NumberFormat packed(BaseType base, const WeightTensor& matrix) {
  if (base == BaseType::int8) return {ElementType::int8, matrix.inputs()};
  return {ElementType::nf4, nf4_block, ElementType::int8, nf4_scale_block};
}

std::vector<StateKind> states_of(description::OptimizerKind optimizer) {
  using description::OptimizerKind;
  if (description::is_adam(optimizer)) return {StateKind::momentum, StateKind::variance};
  if (optimizer == OptimizerKind::muon) return {StateKind::momentum, StateKind::variance};
  if (optimizer == OptimizerKind::adafactor) return {StateKind::variance};
  if (optimizer == OptimizerKind::sgd) return {};
  return {StateKind::momentum};
}

NumberFormat state_format(description::OptimizerKind optimizer, description::StateWidth width) {
  if (description::is_8bit_adam(optimizer)) return state_in_8_bits;
  switch (width) {
    case description::StateWidth::fp32:
      break;
    case description::StateWidth::bf16:
      return ElementType::bf16;
    case description::StateWidth::int8:
      return state_in_8_bits;
  }
  return fp32_numbers;
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
  const bool wide = states != description::StateWidth::bf16;
  WeightFormats formats{type, NumberFormat(type), description::parameter_type(precision), {}};
  if (formats.parameter != formats.weight && wide)
    formats.states.push_back({StateKind::master, ElementType::fp32});
  for (const StateKind kind : states_of(optimizer))
    formats.states.push_back({kind, state_format(optimizer, states)});
  return formats;
}

Formats::Formats(description::Precision precision, description::OptimizerKind optimizer,
                 description::StateWidth states, AdapterType adapters, BaseType base)
    : weights_(formats_of(precision, optimizer, states)),
      adapters_(weights_),
      optimizer_(optimizer),
      base_(base) {
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
  // bitsandbytes packs the weights of nn.Linear: one tensor of all experts is none
  const bool packs = weight.frozen && base_ != BaseType::bf16 && weight.multiplies_in_block() &&
                     !weight.is_stacked();
  return packs ? packed(base_, weight) : weights_.weight;
}

WeightFormats Formats::with_states_of(const WeightTensor& weight, WeightFormats formats) const {
  using description::OptimizerKind;
  if (optimizer_ == OptimizerKind::muon && weight.multiplies_in_block())
    std::erase_if(formats.states,
                  [](const StateFormat& state) { return state.kind == StateKind::variance; });
  if (optimizer_ == OptimizerKind::adafactor && weight.decays())
    for (StateFormat& state : formats.states)
      if (state.kind == StateKind::variance)
        state.format = NumberFormat::factors(weight.outputs(), weight.inputs());
  // Small tensors keep theirs in fp32.
  if (weight.parameters.value() >= least_in_8_bits) return formats;
  for (StateFormat& state : formats.states)
    if (state.format == state_in_8_bits) state.format = fp32_numbers;
  return formats;
}

WeightFormats Formats::of(const WeightTensor& weight) const {
  if (weight.is_adapter()) return with_states_of(weight, adapters_);
  if (!weight.frozen) return with_states_of(weight, weights_);
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
