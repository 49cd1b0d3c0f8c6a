#pragma once

#include "strategies/parts/activations/saved_tensors.hpp"

namespace spillway::strategies {

/// Saved tensors that stay on the GPU from forward to backward. Passes are issued whole.
class SavedOnGpu : public SavedTensors {
 public:
  using SavedTensors::SavedTensors;

  void before_forward(std::uint32_t layer) override;
  Task<IssuedPass> forward(PassTurn turn) override;
  Task<IssuedPass> backward(BackwardTurn turn, std::vector<Op> after) override;
};

}  // namespace spillway::strategies
