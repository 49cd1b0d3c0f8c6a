#include "models/formats.hpp"

namespace spillway::models {

std::uint64_t WeightFormats::state_bytes(std::uint64_t elements) const {
  std::uint64_t bytes = 0;
  for (const StateFormat& state : states) bytes += state.format.bytes(elements);
  return bytes;
}

WeightFormats formats_of(description::Precision precision, description::OptimizerKind optimizer,
                         description::StateWidth states) {
  const ElementType type = description::kernel_type(precision);
  const bool wide = states == description::StateWidth::fp32;
  WeightFormats formats{type, type, description::parameter_type(precision), {}};
  if (formats.parameter != formats.weight && wide)
    formats.states.push_back({StateKind::master, ElementType::fp32});
  if (optimizer != description::OptimizerKind::adam) return formats;
  const NumberFormat state = wide ? ElementType::fp32 : ElementType::bf16;
  formats.states.push_back({StateKind::momentum, state});
  formats.states.push_back({StateKind::variance, state});
  return formats;
}

WeightFormats formats_of(const description::Training& training) {
  return formats_of(training.precision, training.optimizer, training.optimizer_state);
}

}  // namespace spillway::models
