#pragma once

#include "hw_backend/arithmetic/operands.hpp"

namespace spillway::hw_backend {

/// One matrix product of a feed-forward, over rows that follow each other. Gradients of several
/// outputs of one matrix are those of its columns, in order.
struct Linear {
  Operand matrix;  ///< or its gradient
  std::optional<Operand> bias{};
  std::uint64_t rows = 0;
};

/// outputs = x times the matrix, with its bias.
void multiply(const Call& call, const Linear& linear, const Operand& x,
              const std::vector<Operand>& outputs);
/// x = gradients times the transposed matrix, or is summed to.
void multiply_back(const Call& call, const Linear& linear, const std::vector<Operand>& gradients,
                   const Operand& x);
/// The gradients of `linear` = transposed gradients times x.
///   sums  they have begun, and grow
void multiply_weights(const Call& call, const Linear& linear, const std::vector<Operand>& gradients,
                      const Operand& x, bool sums);

}  // namespace spillway::hw_backend
