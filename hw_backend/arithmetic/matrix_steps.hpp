#pragma once

#include "hw_backend/arithmetic/primitives.hpp"

namespace spillway::hw_backend {

/// `count` matrices [rows, columns] one behind the other.
struct MuonShape {
  std::uint64_t rows = 0, columns = 0, count = 1;
  bool inputs_first = false;  ///< rows are a module's inputs
  std::uint64_t each() const { return rows * columns; }
};

/// What a step of Muon works on: such matrices.
///   workspace  2 bytes for two matrices and two squares of the shorter side, `count` times
struct MuonArrays {
  Array master, momentum;
  ConstArray gradient;
  std::optional<Array> weight;
  std::uint64_t rows = 0, columns = 0, count = 1;
  bool inputs_first = false;
  std::byte* workspace = nullptr;
  MuonShape shape() const { return {rows, columns, count, inputs_first}; }
};

struct MuonNumbers {
  double learning_rate = 1e-3, beta = 0.95, weight_decay = 0, inverse_scale = 1;
};

/// Its parts, of arrays that are pieces of such matrices but where they say so. Beside a step of
/// whole matrices they change no bit.
///   muon_momentum  momentum = beta momentum + gradient; sum, in bf16, gradient + beta momentum
///   muon_products  `matrices`, whole, in place: each divided by its norm and made nearly
///                  orthogonal, by way of a workspace for `count` as MuonArrays has it
///   muon_apply     master goes down by `direction`, in bf16
void muon_momentum(Primitives& device, std::uint64_t n, const Array& momentum,
                   const ConstArray& gradient, std::byte* sum, const MuonNumbers& numbers);
void muon_products(Primitives& device, const MuonShape& shape, std::byte* matrices,
                   std::byte* workspace);
void muon_apply(Primitives& device, std::uint64_t n, const MuonShape& shape, const Array& master,
                const std::byte* direction, const std::optional<Array>& weight,
                const MuonNumbers& numbers);

/// One step, with Nesterov's momentum: momentum = beta momentum + gradient; what is gradient + beta
/// momentum is divided by its norm and made nearly orthogonal, in bf16; master goes down by it
/// times the root of outputs / inputs, at least 1.
///   Source  Jordan et al.: Muon (2024), zeropower_via_newtonschulz5
void muon_step(Primitives& device, const MuonArrays& arrays, const MuonNumbers& numbers);

}  // namespace spillway::hw_backend
