#pragma once

#include "hw_backend/arithmetic/host_primitives.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::hw_backend {

inline float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

template <std::size_t ins, std::size_t outs, class Work>
void HostPrimitives::map(std::uint64_t count, const std::array<Input, ins>& inputs,
                         const std::array<Output, outs>& outputs, const Work& work) {
  constexpr std::size_t piece = 2048;
  std::array<std::size_t, ins + outs> sizes;
  sizes.fill(piece);
  const auto buffers = scratch_.take(sizes);
  for (std::uint64_t first = 0; first < count; first += piece) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(piece, count - first));
    std::array<const float*, ins> from{};
    std::array<float*, outs> into{};
    for (std::size_t i = 0; i < ins; ++i) from[i] = widen(inputs[i], first, n, buffers[i]);
    for (std::size_t i = 0; i < outs; ++i) into[i] = buffers[ins + i];
    work(first, n, from, into);
    for (std::size_t i = 0; i < outs; ++i)
      if (outputs[i].data) narrow(into[i], outputs[i], first, n);
  }
}

/// The sum of value(i), i in [0, count), in eight partial sums that are added pairwise at the end.
template <class Value>
float sum_of(std::size_t count, const Value& value) {
  float partial[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) partial[lane] += value(i + lane);
  for (std::size_t lane = 0; i < count; ++i, ++lane) partial[lane] += value(i);
  return ((partial[0] + partial[4]) + (partial[2] + partial[6])) +
         ((partial[1] + partial[5]) + (partial[3] + partial[7]));
}

}  // namespace spillway::hw_backend
