#include "hw_backend/arithmetic/host_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace spillway::hw_backend {

namespace {

/// All levels of PackedState, and of each code but the first the number above which it is nearer
/// than the one before: what packed_states works out for each number, worked out once.
class LevelTable {
 public:
  explicit LevelTable(bool is_signed) {
    for (unsigned code = 0; code < levels_.size(); ++code)
      levels_[code] = packed_states::level(code, is_signed);
    for (unsigned code = 1; code < bounds_.size(); ++code)
      bounds_[code] = (levels_[code - 1] + levels_[code]) * 0.5f;
  }

  float number(const PackedState& state, std::uint64_t i, float scale) const {
    return levels_[static_cast<unsigned>(state.data[i])] * scale;
  }
  void pack(const PackedState& state, std::uint64_t i, float value, float scale) const {
    const float share = scale > 0 ? value / scale : 0.0f;
    unsigned below = 0;
    for (unsigned bit = 128; bit > 0; bit /= 2) below |= share > bounds_[below | bit] ? bit : 0;
    state.data[i] = static_cast<std::byte>(below);
  }

  static const LevelTable& of(const PackedState& state) {
    static const LevelTable with_sign(true), without(false);
    return state.is_signed ? with_sign : without;
  }

 private:
  std::array<float, 256> levels_{}, bounds_{};
};

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
  const LevelTable &momenta = LevelTable::of(a.momentum), &variances = LevelTable::of(a.variance);
  for (std::uint64_t i = first; i < last; ++i) {
    const float g = load(a.gradient, i) * s.inverse_scale;
    const float m = momenta.number(a.momentum, i, of_momentum);
    const float v = variances.number(a.variance, i, of_variance);
    next.momentum[i - first] = (s.beta1 * m) + (s.rest1 * g);
    next.variance[i - first] = (s.beta2 * v) + (s.rest2 * (g * g));
    next.largest_momentum = packed_states::larger(next.largest_momentum, next.momentum[i - first]);
    next.largest_variance = packed_states::larger(next.largest_variance, next.variance[i - first]);
  }
  return next;
}

/// keep x before + rest x the mean of `squares` over so many.
float averaged(const AdafactorScalars& s, float before, float squares, std::uint64_t over) {
  return s.keep * before + s.rest * (squares / static_cast<float>(over));
}

/// A matrix as Adafactor sees it.
class Factored {
 public:
  Factored(const AdafactorArrays& arrays, const AdafactorScalars& scalars)
      : a_(arrays), s_(scalars) {}

  void average() {
    if (!a_.row_means) {
      for (std::uint64_t i = 0; i < a_.rows * a_.columns; ++i)
        a_.squares[i] = averaged(s_, a_.squares[i], squared(gradient(i)), 1);
      return;
    }
    for (std::uint64_t row = 0; row < a_.rows; ++row)
      a_.row_means[row] = averaged(
          s_, a_.row_means[row],
          over_row(row, [&](std::uint64_t i) { return squared(gradient(i)); }), a_.columns);
    for (std::uint64_t column = 0; column < a_.columns; ++column) {
      const float squares = sum_of(
          a_.rows, [&](std::uint64_t row) { return squared(gradient(row * a_.columns + column)); });
      a_.column_means[column] = averaged(s_, a_.column_means[column], squares, a_.rows);
    }
    const float rows = sum_of(a_.rows, [&](std::uint64_t row) { return a_.row_means[row]; });
    mean_ = std::max(rows / static_cast<float>(a_.rows), AdafactorScalars::least_square);
  }
  float update(std::uint64_t i) const {
    const float square =
        a_.row_means ? a_.row_means[i / a_.columns] * a_.column_means[i % a_.columns] / mean_
                     : a_.squares[i];
    return adafactor_update(gradient(i), square);
  }
  /// Of value(element): sums over rows, then over these.
  template <class Value>
  float squares_of(const Value& value) const {
    return sum_of(a_.rows, [&](std::uint64_t row) {
      return over_row(row, [&](std::uint64_t i) { return squared(value(i)); });
    });
  }

 private:
  static float squared(float value) { return value * value; }
  float gradient(std::uint64_t i) const { return load(a_.gradient, i) * s_.inverse_scale; }
  template <class Value>
  float over_row(std::uint64_t row, const Value& value) const {
    return sum_of(a_.columns, [&](std::uint64_t i) { return value(row * a_.columns + i); });
  }

  const AdafactorArrays& a_;
  const AdafactorScalars& s_;
  float mean_ = 1;
};

}  // namespace

void HostPrimitives::adafactor(const AdafactorArrays& arrays, const AdafactorScalars& scalars) {
  Factored matrix(arrays, scalars);
  matrix.average();
  const float masters = matrix.squares_of([&](std::uint64_t i) { return load(arrays.master, i); });
  const float updates = matrix.squares_of([&](std::uint64_t i) { return matrix.update(i); });
  const std::uint64_t n = arrays.rows * arrays.columns;
  const float rate = adafactor_rate(scalars, masters, updates, n);
  for (std::uint64_t i = 0; i < n; ++i) {
    const float w =
        with_canonical_nan(scalars.decay * load(arrays.master, i) - rate * matrix.update(i));
    store(arrays.master, i, w);
    if (arrays.weight) store(*arrays.weight, i, w);
  }
}

void HostPrimitives::adam_in_8_bits(const PackedAdamArrays& arrays, const AdamNumbers& numbers) {
  const AdamScalars s = scalars(numbers);
  const LevelTable& momenta = LevelTable::of(arrays.momentum);
  const LevelTable& variances = LevelTable::of(arrays.variance);
  for (std::uint64_t first = 0; first < arrays.n; first += PackedState::block) {
    const std::uint64_t last = std::min(first + PackedState::block, arrays.n);
    const Renewed next = renewed(arrays, s, first, last);
    for (std::uint64_t i = first; i < last; ++i) {
      const float m = next.momentum[i - first], v = next.variance[i - first];
      const float d = (std::sqrt(v) * s.inverse_root_correction2) + s.epsilon;
      const float w = with_canonical_nan((s.keep * load(arrays.master, i)) - (s.step * (m / d)));
      store(arrays.master, i, w);
      if (arrays.weight) store(*arrays.weight, i, w);
      momenta.pack(arrays.momentum, i, m, next.largest_momentum);
      variances.pack(arrays.variance, i, v, next.largest_variance);
    }
    arrays.momentum.set_scale(first / PackedState::block, next.largest_momentum);
    arrays.variance.set_scale(first / PackedState::block, next.largest_variance);
  }
}

}  // namespace spillway::hw_backend
