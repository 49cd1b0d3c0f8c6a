#include "hw_backend/arithmetic/host_map.hpp"

#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

/// Columns of a matrix that are chosen, taken out and put back.
namespace spillway::hw_backend {

void HostPrimitives::choose_columns(const ChosenColumns& chosen, Input x, float* sums,
                                    std::uint32_t* indices) {
  std::fill_n(sums, chosen.columns, 0.0f);
  for (std::uint64_t row = 0; row < chosen.rows; ++row)
    map<1, 0>(chosen.columns, {Input(x.data + row * chosen.columns * size_of(x.type), x.type)}, {},
              [&](std::uint64_t first, std::size_t n, const auto& from, const auto&) {
                for (std::size_t i = 0; i < n; ++i) sums[first + i] += std::abs(from[0][i]);
              });
  for (std::uint64_t i = 0; i < chosen.columns; ++i)
    if (std::isnan(sums[i])) sums[i] = std::numeric_limits<float>::infinity();
  std::vector<std::uint32_t> order(chosen.columns);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t one, std::uint32_t other) { return sums[one] > sums[other]; });
  std::copy_n(order.begin(), chosen.count, indices);
}

void HostPrimitives::take_columns(const ChosenColumns& chosen, Input x, Output packed) {
  const std::size_t width = size_of(x.type);
  std::byte* into = packed.data;
  for (std::uint64_t row = 0; row < chosen.rows; ++row)
    for (std::uint64_t i = 0; i < chosen.count; ++i, into += width)
      std::memcpy(into, x.data + (row * chosen.columns + chosen.indices[i]) * width, width);
}

void HostPrimitives::put_columns(const ChosenColumns& chosen, Input packed, Output x) {
  const std::size_t width = size_of(x.type);
  const std::byte* from = packed.data;
  for (std::uint64_t row = 0; row < chosen.rows; ++row)
    for (std::uint64_t i = 0; i < chosen.count; ++i, from += width)
      std::memcpy(x.data + (row * chosen.columns + chosen.indices[i]) * width, from, width);
}

}  // namespace spillway::hw_backend
