#include "hw_backend/arithmetic/host_map.hpp"

#include <cmath>
#include <utility>
#include <vector>

namespace spillway::hw_backend {

void HostPrimitives::embed(const Embedding& call, Input words, Input positions, Output hidden) {
  const std::size_t n = call.width;
  const auto [values, wide] = scratch_.take<2>({n, n});
  for (std::uint64_t row = 0; row < call.rows; ++row) {
    const std::uint64_t word = call.text.input(row);
    if (call.words.has(word))
      widen_into(words, (word - call.words.first) * n, n, values);
    else
      std::fill_n(values, n, 0.0f);
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
  for (std::uint64_t row = 0; row < call.rows; ++row) {
    const std::uint64_t word = call.text.input(row);
    if (call.words.has(word)) uses.emplace_back(word - call.words.first, row);
  }
  std::sort(uses.begin(), uses.end());
  if (!words.add) zero(words.data, call.table_rows() * n * size_of(words.type));
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

namespace {

/// log of the sum of exp(x).
float log_sum_exp(const float* x, std::size_t count) {
  const float largest = *std::max_element(x, x + count);
  const float exps = sum_of(count, [&](std::size_t i) { return std::exp(x[i] - largest); });
  return std::log(exps) + largest;
}

}  // namespace

void HostPrimitives::cross_entropy(const CrossEntropy& call, Input logits, double* loss) {
  const std::size_t n = call.width;
  const auto [wide] = scratch_.take<1>({n});
  double sum = 0;
  for (std::uint64_t row = 0; row < call.rows; ++row) {
    const float* const x = widen(logits, row * n, n, wide);
    const float own = x[call.text.label(call.first_row + row)];
    sum += static_cast<double>(log_sum_exp(x, n) - own);
  }
  *loss += sum / static_cast<double>(call.tokens);
}

void HostPrimitives::cross_entropy_statistics(const CrossEntropy& call, Input logits,
                                              float* statistics) {
  const std::size_t n = call.width;
  const auto [wide] = scratch_.take<1>({n});
  for (std::uint64_t row = 0; row < call.rows; ++row) {
    const float* const x = widen(logits, row * n, n, wide);
    const std::uint64_t token = call.first_row + row, label = call.text.label(token);
    statistics[2 * token] = log_sum_exp(x, call.words.count);
    statistics[2 * token + 1] = call.words.has(label) ? x[label - call.words.first] : 0.0f;
  }
}

void HostPrimitives::join_losses(const JoinedLoss& call, const float* statistics, float* shares,
                                 double* loss) {
  const auto [sums] = scratch_.take<1>({call.ranks});
  double sum = 0;
  for (std::uint64_t token = 0; token < call.tokens; ++token) {
    float label = 0;
    for (std::uint64_t rank = 0; rank < call.ranks; ++rank) {
      const float* const of = statistics + 2 * (rank * call.tokens + token);
      sums[rank] = of[0];
      label += of[1];
    }
    const float all = log_sum_exp(sums, call.ranks);
    shares[token] = std::exp(sums[call.rank] - all);
    sum += static_cast<double>(all - label);
  }
  *loss += sum / static_cast<double>(call.tokens);
}

void HostPrimitives::cross_entropy_backward(const CrossEntropy& call, Input softmax, float scale,
                                            Output logits_gradient) {
  const std::size_t n = call.width;
  const auto [values] = scratch_.take<1>({n});
  for (std::uint64_t row = 0; row < call.rows; ++row) {
    widen_into(softmax, row * n, n, values);
    const std::uint64_t label = call.text.label(call.first_row + row);
    const float share = call.share(row);
    for (std::size_t i = 0; i < n; ++i) values[i] *= share;
    if (call.words.has(label)) values[label - call.words.first] -= 1.0f;
    for (std::size_t i = 0; i < n; ++i) values[i] *= scale;
    narrow(values, logits_gradient, row * n, n);
  }
}

}  // namespace spillway::hw_backend
