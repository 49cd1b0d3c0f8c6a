#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hw_backend/cpu/element.hpp"
#include "hw_backend/cpu/team.hpp"

namespace spillway::hw_backend {

/// What an Adam step works on, n elements each.
///   master, momentum, variance   read and written
///   gradient                     read; still multiplied by the loss scale
///   weight                       written when there is one: the new master, rounded once from fp32
struct AdamArrays {
  Array master, momentum, variance;
  ConstArray gradient;
  std::optional<Array> weight;
  std::size_t n = 0;
};

/// What an update stores: any NaN as the canonical one, so that all devices end bit-equal.
inline float with_canonical_nan(float value) {
  return value == value ? value : std::bit_cast<float>(0x7FC00000u);
}

/// The hyperparameters of one step.
///   correction1, correction2   1 - beta^t of step t, counted from 1
///   inverse_scale              1 / (loss scale x whatever else the gradient was multiplied by)
struct AdamNumbers {
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  double correction1 = 1, correction2 = 1, inverse_scale = 1;
};

/// `numbers` with the corrections of step `step`, counted from 1.
AdamNumbers at_step(AdamNumbers numbers, std::uint64_t step);

/// The constants of the arithmetic below: computed in fp64, rounded to fp32 once.
struct AdamScalars {
  float inverse_scale = 1;
  float beta1 = 0, rest1 = 0;          ///< beta1 and 1 - beta1
  float beta2 = 0, rest2 = 0;          ///< beta2 and 1 - beta2
  float inverse_root_correction2 = 1;  ///< 1 / sqrt(correction2)
  float epsilon = 0;
  float keep = 1;  ///< 1 - learning_rate x weight_decay
  float step = 0;  ///< learning_rate / correction1
};
inline AdamScalars scalars(const AdamNumbers& numbers) {
  AdamScalars result;
  result.inverse_scale = static_cast<float>(numbers.inverse_scale);
  result.beta1 = static_cast<float>(numbers.beta1);
  result.rest1 = static_cast<float>(1 - numbers.beta1);
  result.beta2 = static_cast<float>(numbers.beta2);
  result.rest2 = static_cast<float>(1 - numbers.beta2);
  result.inverse_root_correction2 = static_cast<float>(1 / std::sqrt(numbers.correction2));
  result.epsilon = static_cast<float>(numbers.epsilon);
  result.keep = static_cast<float>(1 - numbers.learning_rate * numbers.weight_decay);
  result.step = static_cast<float>(numbers.learning_rate / numbers.correction1);
  return result;
}

/// Adam with decoupled weight decay (Loshchilov and Hutter, AdamW), element by element. Every
/// line is one or two fp32 operations, each rounded to nearest even, none fused; all devices
/// repeat them in this order:
///   g = gradient * inverse_scale
///   m = (beta1 * momentum) + (rest1 * g)
///   v = (beta2 * variance) + (rest2 * (g * g))
///   d = (sqrt(v) * inverse_root_correction2) + epsilon
///   w = (keep * master) - (step * (m / d))
/// Then momentum = m, variance = v, master = w, weight = w, each rounded to its type; a NaN is
/// stored as 0x7FC00000 (fp32), 0x7FC0 (bf16), 0x7E00 (fp16), whatever NaN came in.
///   Traffic  each array once; fp32 states, fp16 gradient and weight: 28 B, 14 read + 14 written
///   Arrays   do not overlap, except that `weight` may be `gradient` when both have one type
void adam(const AdamArrays& arrays, const AdamNumbers& numbers, Team& team);

/// The lines of `adam` one at a time, for an Adam that is not fused; the denominator d, fp32, goes
/// from one to the next. All of them in this order have the bits of `adam` where the states are
/// fp32.
///   momentum   momentum = m                          gradient
///   decay      variance = beta2 * variance
///   variance   variance = variance + (rest2 * (g * g))   gradient
///   root       d = sqrt(variance)
///   correct    d = d * inverse_root_correction2
///   shift      d = d + epsilon
///   apply      master, weight = w                    momentum
enum class AdamPart : std::uint8_t { momentum, decay, variance, root, correct, shift, apply };

/// What a part uses of them; the others have no data.
struct AdamPartArrays {
  Array master, momentum, variance, denominator;
  ConstArray gradient;
  std::optional<Array> weight;
  std::size_t n = 0;
};
void adam_part(AdamPart part, const AdamPartArrays& arrays, const AdamNumbers& numbers, Team& team);

/// What a step of plain gradient descent works on, n elements each, as in AdamArrays.
struct SgdArrays {
  Array master;
  ConstArray gradient;
  std::optional<Array> weight;
  std::size_t n = 0;
};

struct SgdNumbers {
  double learning_rate = 1e-3, weight_decay = 0, inverse_scale = 1;
};

/// learning_rate and 1 - learning_rate x weight_decay, rounded to fp32 once.
struct SgdScalars {
  float inverse_scale = 1, keep = 1, step = 0;
};
inline SgdScalars scalars(const SgdNumbers& numbers) {
  SgdScalars result;
  result.inverse_scale = static_cast<float>(numbers.inverse_scale);
  result.keep = static_cast<float>(1 - numbers.learning_rate * numbers.weight_decay);
  result.step = static_cast<float>(numbers.learning_rate);
  return result;
}

/// Gradient descent without momentum; rounding, NaN and overlap as in `adam`:
///   w = (keep * master) - (step * (gradient * inverse_scale))
void sgd(const SgdArrays& arrays, const SgdNumbers& numbers, Team& team);

/// Steps that keep a momentum alone.
///   sgd   Source  PyTorch, torch.optim.SGD, nesterov and dampening off
///   lion  Source  Chen et al.: Symbolic Discovery of Optimization Algorithms (2023), algorithm 2
enum class MomentumRule : std::uint8_t { sgd, lion };

/// What they work on, n elements each, as in AdamArrays.
struct MomentumArrays {
  Array master, momentum;
  ConstArray gradient;
  std::optional<Array> weight;
  std::size_t n = 0;
};

/// The hyperparameters of one step; `blend`, which Lion alone has, weighs the momentum against the
/// gradient in what it takes the sign of.
struct MomentumNumbers {
  MomentumRule rule = MomentumRule::sgd;
  double learning_rate = 1e-3, beta = 0.9, blend = 0.9, weight_decay = 0, inverse_scale = 1;
};

/// Computed in fp64, rounded to fp32 once.
struct MomentumScalars {
  MomentumRule rule = MomentumRule::sgd;
  float inverse_scale = 1;
  float beta = 0, rest = 0;    ///< beta; of Lion 1 - beta, else 1
  float blend = 0, other = 0;  ///< blend and 1 - blend
  float keep = 1, step = 0;    ///< 1 - learning_rate x weight_decay; learning_rate
};
inline MomentumScalars scalars(const MomentumNumbers& numbers) {
  MomentumScalars result;
  result.rule = numbers.rule;
  result.inverse_scale = static_cast<float>(numbers.inverse_scale);
  result.beta = static_cast<float>(numbers.beta);
  result.rest = numbers.rule == MomentumRule::lion ? static_cast<float>(1 - numbers.beta) : 1;
  result.blend = static_cast<float>(numbers.blend);
  result.other = static_cast<float>(1 - numbers.blend);
  result.keep = static_cast<float>(1 - numbers.learning_rate * numbers.weight_decay);
  result.step = static_cast<float>(numbers.learning_rate);
  return result;
}

/// A step with momentum; rounding, NaN and overlap as in `adam`:
///   g = gradient * inverse_scale
///   m = (beta * momentum) + (rest * g)
///   sgd:   u = m
///   lion:  c = (blend * momentum) + (other * g);  u = 1, -1 or c, as c > 0, c < 0 or neither
///   w = (keep * master) - (step * u)
/// Then momentum = m, master = w, weight = w.
void momentum_step(const MomentumArrays& arrays, const MomentumNumbers& numbers, Team& team);

}  // namespace spillway::hw_backend
