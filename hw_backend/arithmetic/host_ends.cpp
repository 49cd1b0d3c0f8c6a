#include "hw_backend/arithmetic/host_map.hpp"

#include <cmath>
#include <utility>
#include <vector>

namespace spillway::hw_backend {

void HostPrimitives::embed(const Embedding& call, Input words, Input positions, Output hidden) {
  const std::size_t n = call.width;
  const auto [values, wide] = scratch_.take<2>({n, n});
  for (std::uint64_t row = 0; row < call.rows; ++row) {
    widen_into(words, call.text.input(row) * n, n, values);
    if (call.positions > 0) {
      const std::uint64_t position = call.text.position(row) + call.position_offset;
      const float* const other = widen(positions, position * n, n, wide);
      for (std::size_t i = 0; i < n; ++i) values[i] += other[i];
    }
    narrow(values, hidden, row * n, n);
  }
}

void HostPrimitives::embed_backward(const Embedding& call, Input hidden_gradient, Output words,
                                    Output positions) {
  const std::size_t n = call.width;
  const auto [sums, wide] = scratch_.take<2>({n, n});
  const auto begin = [&, into = sums] { std::fill_n(into, n, 0.0f); };
  const auto add_row = [&, into = sums, buffer = wide](std::uint64_t row) {
    const float* const from = widen(hidden_gradient, row * n, n, buffer);
    for (std::size_t i = 0; i < n; ++i) into[i] += from[i];
  };
  std::vector<std::pair<std::uint64_t, std::uint64_t>> uses;  // word, row; ascending
  for (std::uint64_t row = 0; row < call.rows; ++row) uses.emplace_back(call.text.input(row), row);
  std::sort(uses.begin(), uses.end());
  if (!words.add) zero(words.data, call.text.vocabulary * n * size_of(words.type));
  for (auto use = uses.begin(); use != uses.end();) {
    const std::uint64_t word = use->first;
    for (begin(); use != uses.end() && use->first == word; ++use) add_row(use->second);
    narrow(sums, words, word * n, n);
  }
  if (call.positions == 0) return;
  if (!positions.add) zero(positions.data, call.positions * n * size_of(positions.type));
  for (std::uint64_t token = 0; token < call.text.own(); ++token) {
    begin();
    for (std::uint64_t row = token; row < call.rows; row += call.text.own()) add_row(row);
    narrow(sums, positions, (call.text.position(token) + call.position_offset) * n, n);
  }
}

void HostPrimitives::cross_entropy(const CrossEntropy& call, Input logits, double* loss) {
  const std::size_t n = call.width;
  const auto [wide] = scratch_.take<1>({n});
  double sum = 0;
  for (std::uint64_t row = 0; row < call.rows; ++row) {
    const float* const x = widen(logits, row * n, n, wide);
    const float largest = *std::max_element(x, x + n);
    const float exps = sum_of(n, [&](std::size_t i) { return std::exp(x[i] - largest); });
    const float own = x[call.text.label(call.first_row + row)];
    sum += static_cast<double>(std::log(exps) + largest - own);
  }
  *loss += sum / static_cast<double>(call.tokens);
}

void HostPrimitives::cross_entropy_backward(const CrossEntropy& call, Input softmax, float scale,
                                            Output logits_gradient) {
  const std::size_t n = call.width;
  const auto [values] = scratch_.take<1>({n});
  for (std::uint64_t row = 0; row < call.rows; ++row) {
    widen_into(softmax, row * n, n, values);
    values[call.text.label(call.first_row + row)] -= 1.0f;
    for (std::size_t i = 0; i < n; ++i) values[i] *= scale;
    narrow(values, logits_gradient, row * n, n);
  }
}

}  // namespace spillway::hw_backend
