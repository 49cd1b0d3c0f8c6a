#include "hw_backend/arithmetic/host_map.hpp"

#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

/// Columns of a matrix that are chosen, taken out and put back.
namespace spillway::hw_backend {

void HostPrimitives::sum_columns(const ChosenColumns& chosen, Input x, float* sums) {
  std::fill_n(sums, chosen.columns, 0.0f);
  for (std::uint64_t at = chosen.first; at < chosen.end();) {
    const std::uint64_t column = at % chosen.columns;
    const std::uint64_t count = std::min(chosen.columns - column, chosen.end() - at);
    map<1, 0>(count, {Input(x.data + (at - chosen.first) * size_of(x.type), x.type)}, {},
              [&](std::uint64_t first, std::size_t n, const auto& from, const auto&) {
                for (std::size_t i = 0; i < n; ++i)
                  sums[column + first + i] += std::abs(from[0][i]);
              });
    at += count;
  }
  for (std::uint64_t i = 0; i < chosen.columns; ++i)
    if (std::isnan(sums[i])) sums[i] = std::numeric_limits<float>::infinity();
}

void HostPrimitives::choose_columns(const ChosenColumns& chosen, const float* sums,
                                    std::uint32_t* indices) {
  std::vector<std::uint32_t> order(chosen.columns);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t one, std::uint32_t other) { return sums[one] > sums[other]; });
  std::copy_n(order.begin(), chosen.count, indices);
}

void HostPrimitives::take_columns(const ChosenColumns& chosen, Input x, Output packed) {
  const std::size_t width = size_of(x.type);
  for (std::uint64_t i = 0; i < chosen.shares * chosen.stride; ++i) {
    const std::uint64_t place = chosen.place(i);
    if (place == ChosenColumns::nowhere)
      std::memset(packed.data + i * width, 0, width);
    else
      std::memcpy(packed.data + i * width, x.data + place * width, width);
  }
}

void HostPrimitives::put_columns(const ChosenColumns& chosen, Input packed, Output x) {
  const std::size_t width = size_of(x.type);
  for (std::uint64_t i = 0; i < chosen.shares * chosen.stride; ++i)
    if (const std::uint64_t place = chosen.place(i); place != ChosenColumns::nowhere)
      std::memcpy(x.data + place * width, packed.data + i * width, width);
}

}  // namespace spillway::hw_backend
