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

/// What rescales the outputs of a module with DoRA.
struct Rescaling {
  std::uint64_t rows = 0;
  Operand bias{};        ///< without data where there is none
  Operand magnitudes{};  ///< [columns of the module]
  const float* norms = nullptr;
};
/// Of one output of the module, its columns from `first` on.
///   product, added  [rows, columns of the output]: of the matrix with its bias, and of the adapter
Rescale rescale_of(const Rescaling& of, const Operand& product, const Operand& added,
                   std::uint64_t first);
/// norms [outputs] = of the rows of matrix + scale up down, with call.workspace as scratch.
void take_norms(const Call& call, const Operand& matrix, const Operand& down, const Operand& up,
                float* norms);

}  // namespace spillway::hw_backend
