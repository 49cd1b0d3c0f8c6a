#include "strategies/parts/activations/saved_on_gpu.hpp"

namespace spillway::strategies {

void SavedOnGpu::before_forward(std::uint32_t layer) {
  const std::vector<SavedTensor>& saved = plan(layer).saved;
  for (std::size_t i = 0; i < saved.size(); ++i)
    if (!saved[i].made_in_backward)
      memory_.now().saved[layer][i] = memory_.allocate(saved[i].bytes);
}

Task<IssuedPass> SavedOnGpu::forward(PassTurn turn) {
  co_return turn.passes->issue(plan(turn.layer).forward, turn.at, {});
}

Task<IssuedPass> SavedOnGpu::backward(BackwardTurn turn, std::vector<Op> after) {
  co_return turn.passes->issue(plan(turn.layer).backward, turn.at, std::move(after));
}

}  // namespace spillway::strategies
