#include "hw_backend/arithmetic/host_primitives.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace spillway::hw_backend {

namespace {

float tamed(float value) { return value == value ? value : std::bit_cast<float>(0x7FC00000u); }

/// The states of one block, renewed.
struct Renewed {
  std::array<float, PackedState::block> momentum, variance;
  float largest_momentum = 0, largest_variance = 0;
};

Renewed renewed(const PackedAdamArrays& a, const AdamScalars& s, std::uint64_t first,
                std::uint64_t last) {
  Renewed next;
  const std::uint64_t block = first / PackedState::block;
  const float of_momentum = a.momentum.scale(block), of_variance = a.variance.scale(block);
  for (std::uint64_t i = first; i < last; ++i) {
    const float g = load(a.gradient, i) * s.inverse_scale;
    const float m = packed_number(a.momentum, i, of_momentum);
    const float v = packed_number(a.variance, i, of_variance);
    next.momentum[i - first] = (s.beta1 * m) + (s.rest1 * g);
    next.variance[i - first] = (s.beta2 * v) + (s.rest2 * (g * g));
    next.largest_momentum = packed_states::larger(next.largest_momentum, next.momentum[i - first]);
    next.largest_variance = packed_states::larger(next.largest_variance, next.variance[i - first]);
  }
  return next;
}

}  // namespace

void HostPrimitives::adam_in_8_bits(const PackedAdamArrays& arrays, const AdamNumbers& numbers) {
  const AdamScalars s = scalars(numbers);
  for (std::uint64_t first = 0; first < arrays.n; first += PackedState::block) {
    const std::uint64_t last = std::min(first + PackedState::block, arrays.n);
    const Renewed next = renewed(arrays, s, first, last);
    for (std::uint64_t i = first; i < last; ++i) {
      const float m = next.momentum[i - first], v = next.variance[i - first];
      const float d = (std::sqrt(v) * s.inverse_root_correction2) + s.epsilon;
      const float w = tamed((s.keep * load(arrays.master, i)) - (s.step * (m / d)));
      store(arrays.master, i, w);
      if (arrays.weight) store(*arrays.weight, i, w);
      pack_number(arrays.momentum, i, m, next.largest_momentum);
      pack_number(arrays.variance, i, v, next.largest_variance);
    }
    arrays.momentum.set_scale(first / PackedState::block, next.largest_momentum);
    arrays.variance.set_scale(first / PackedState::block, next.largest_variance);
  }
}

}  // namespace spillway::hw_backend
