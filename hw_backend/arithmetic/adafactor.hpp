#pragma once

#include "hw_backend/arithmetic/random.hpp"
#include "hw_backend/cpu/element.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace spillway::hw_backend {

/// What a step of Adafactor works on: a matrix [rows, columns], or one row.
///   row_means, column_means  moving averages of the gradient's squares over each row and column;
///                            null: `squares` has one for each element
struct AdafactorArrays {
  Array master;
  ConstArray gradient;
  std::optional<Array> weight;
  std::uint64_t rows = 1, columns = 0;
  float *row_means = nullptr, *column_means = nullptr, *squares = nullptr;
};

/// Of one step, rounded to fp32 once.
struct AdafactorScalars {
  float inverse_scale = 1;
  float keep = 0, rest = 1;  ///< of the averages
  float decay = 1;           ///< 1 - learning rate x weight decay
  float rate = 0;            ///< the smaller of learning rate and 1 / root of the step

  static constexpr float least_square = 1.1920929e-7f;  ///< eps of fp32
  static constexpr float least_mean_root = 1e-3f;       ///< of the master
  static constexpr float most_mean_root = 1;            ///< of the update, else it is made smaller
};

/// Step `step`, counted from 1.
inline AdafactorScalars adafactor_scalars(double learning_rate, double weight_decay,
                                          double inverse_scale, std::uint64_t step) {
  const auto at = static_cast<double>(step);
  AdafactorScalars scalars;
  scalars.inverse_scale = static_cast<float>(inverse_scale);
  scalars.rest = static_cast<float>(std::pow(at, -0.8));
  scalars.keep = static_cast<float>(1 - std::pow(at, -0.8));
  scalars.decay = static_cast<float>(1 - learning_rate * weight_decay);
  scalars.rate = static_cast<float>(std::min(learning_rate, 1 / std::sqrt(at)));
  return scalars;
}

/// What a gradient of which the averages say `square` comes to.
SPILLWAY_ANYWHERE inline float adafactor_update(float gradient, float square) {
  constexpr float least = AdafactorScalars::least_square * AdafactorScalars::least_square;
  return gradient / sqrtf(square > least ? square : least);
}

/// By what an update is multiplied.
///   master_squares, update_squares  sums over `elements` of them
SPILLWAY_ANYWHERE inline float adafactor_rate(const AdafactorScalars& s, float master_squares,
                                              float update_squares, std::uint64_t elements) {
  const auto n = static_cast<float>(elements);
  const float master = sqrtf(master_squares / n), update = sqrtf(update_squares / n);
  const float size = master > s.least_mean_root ? master : s.least_mean_root;
  return s.rate * size / (update > s.most_mean_root ? update / s.most_mean_root : 1.0f);
}

}  // namespace spillway::hw_backend
