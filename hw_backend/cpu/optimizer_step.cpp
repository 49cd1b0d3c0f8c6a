#include "hw_backend/cpu/optimizer_step.hpp"

#include <cmath>

#include "hw_backend/cpu/parts.hpp"

namespace spillway::hw_backend {

namespace {

void one_part(AdamPart part, const AdamPartArrays& a, const AdamScalars& s, std::size_t i) {
  const auto gradient = [&] { return load(a.gradient, i) * s.inverse_scale; };
  switch (part) {
    case AdamPart::momentum:
      return store(a.momentum, i,
                   with_canonical_nan((s.beta1 * load(a.momentum, i)) + (s.rest1 * gradient())));
    case AdamPart::decay:
      return store(a.variance, i, with_canonical_nan(s.beta2 * load(a.variance, i)));
    case AdamPart::variance: {
      const float square = gradient() * gradient();
      return store(a.variance, i, with_canonical_nan(load(a.variance, i) + (s.rest2 * square)));
    }
    case AdamPart::root:
      return store(a.denominator, i, with_canonical_nan(std::sqrt(load(a.variance, i))));
    case AdamPart::correct:
      return store(a.denominator, i,
                   with_canonical_nan(load(a.denominator, i) * s.inverse_root_correction2));
    case AdamPart::shift:
      return store(a.denominator, i, with_canonical_nan(load(a.denominator, i) + s.epsilon));
    case AdamPart::apply: {
      const float ratio = load(a.momentum, i) / load(a.denominator, i);
      const float w = with_canonical_nan((s.keep * load(a.master, i)) - (s.step * ratio));
      store(a.master, i, w);
      if (a.weight) store(*a.weight, i, w);
    }
  }
}

float direction(const MomentumScalars& s, float momentum, float next, float gradient) {
  if (s.rule == MomentumRule::sgd) return next;
  const float c = (s.blend * momentum) + (s.other * gradient);
  return c > 0 ? 1.0F : c < 0 ? -1.0F : c;
}

}  // namespace

AdamNumbers at_step(AdamNumbers numbers, std::uint64_t step) {
  numbers.correction1 = 1 - std::pow(numbers.beta1, static_cast<double>(step));
  numbers.correction2 = 1 - std::pow(numbers.beta2, static_cast<double>(step));
  return numbers;
}

void adam(const AdamArrays& arrays, const AdamNumbers& numbers, Team& team) {
  const AdamScalars constants = scalars(numbers);
  const std::size_t written = arrays.weight ? arrays.n * size_of(arrays.weight->type) : 0;
  const auto kernel = kernels(team.isa()).adam;
  in_parts(arrays.n, written, team, [&](Range range) { kernel(arrays, constants, range); });
}

void adam_part(AdamPart part, const AdamPartArrays& arrays, const AdamNumbers& numbers,
               Team& team) {
  const AdamScalars constants = scalars(numbers);
  in_parts(arrays.n, 0, team, [&](Range range) {
    for (std::size_t i = range.first; i < range.last; ++i) one_part(part, arrays, constants, i);
  });
}

void sgd(const SgdArrays& arrays, const SgdNumbers& numbers, Team& team) {
  const SgdScalars constants = scalars(numbers);
  const std::size_t written = arrays.weight ? arrays.n * size_of(arrays.weight->type) : 0;
  const auto kernel = kernels(team.isa()).sgd;
  in_parts(arrays.n, written, team, [&](Range range) { kernel(arrays, constants, range); });
}

void momentum_step(const MomentumArrays& arrays, const MomentumNumbers& numbers, Team& team) {
  const MomentumScalars s = scalars(numbers);
  in_parts(arrays.n, 0, team, [&](Range range) {
    for (std::size_t i = range.first; i < range.last; ++i) {
      const float g = load(arrays.gradient, i) * s.inverse_scale;
      const float before = load(arrays.momentum, i);
      const float m = (s.beta * before) + (s.rest * g);
      const float u = direction(s, before, m, g);
      const float w = with_canonical_nan((s.keep * load(arrays.master, i)) - (s.step * u));
      store(arrays.momentum, i, with_canonical_nan(m));
      store(arrays.master, i, w);
      if (arrays.weight) store(*arrays.weight, i, w);
    }
  });
}

}  // namespace spillway::hw_backend
