#pragma once

#include "hw_backend/arithmetic/primitives.hpp"

namespace spillway::hw_backend {

/// What a step of Muon works on: `count` matrices [rows, columns] one behind the other.
///   workspace  2 bytes for two matrices and two squares of the shorter side, `count` times
struct MuonArrays {
  Array master, momentum;
  ConstArray gradient;
  std::optional<Array> weight;
  std::uint64_t rows = 0, columns = 0, count = 1;
  bool inputs_first = false;  ///< rows are a module's inputs
  std::byte* workspace = nullptr;
};

struct MuonNumbers {
  double learning_rate = 1e-3, beta = 0.95, weight_decay = 0, inverse_scale = 1;
};

/// One step, with Nesterov's momentum: momentum = beta momentum + gradient; what is gradient + beta
/// momentum is divided by its norm and made nearly orthogonal, in bf16; master goes down by it
/// times the root of outputs / inputs, at least 1.
///   Source  Jordan et al.: Muon (2024), zeropower_via_newtonschulz5
void muon_step(Primitives& device, const MuonArrays& arrays, const MuonNumbers& numbers);

}  // namespace spillway::hw_backend
