#include "hw_backend/cpu/optimizer_step.hpp"

#include <cmath>

#include "hw_backend/cpu/parts.hpp"

namespace spillway::hw_backend {

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

void sgd(const SgdArrays& arrays, const SgdNumbers& numbers, Team& team) {
  const SgdScalars constants = scalars(numbers);
  const std::size_t written = arrays.weight ? arrays.n * size_of(arrays.weight->type) : 0;
  const auto kernel = kernels(team.isa()).sgd;
  in_parts(arrays.n, written, team, [&](Range range) { kernel(arrays, constants, range); });
}

}  // namespace spillway::hw_backend
