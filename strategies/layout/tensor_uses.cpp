#include "strategies/layout/tensor_uses.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

/// Notes that a layer's forward or backward has this operand.
///   again  its operator of forward runs once more beside the layer's backward
void note_use(TensorUse& use, models::Access access, std::uint32_t layer, std::uint32_t layers,
              bool backward, bool again) {
  if (use.layer != TensorUse::none && use.layer != layer) use.several_layers = true;
  use.layer = layer;
  const std::uint32_t its_backward = 2 * layers - 1 - layer;
  const std::uint32_t at = backward ? its_backward : layer;
  if (at < use.first) {
    use.first = at;
    use.first_layer = layer;
  }
  if (!backward) use.last_forward_layer = std::max(use.last_forward_layer, layer);
  use.in_backward |= backward;
  // what an operator reads, its recomputation reads again
  use.read_later |= backward || (again && access != models::Access::write);
  const std::uint32_t last = again ? its_backward : at;
  if (last >= use.last) {
    use.last = last;
    use.last_layer = layer;
  }
}

}  // namespace

std::vector<TensorUse> uses_of(const models::StepProgram& program,
                               const std::vector<bool>& runs_again, models::Span of_layers) {
  std::vector<TensorUse> uses(program.tensors.size());
  const auto layers = static_cast<std::uint32_t>(program.layers.size());
  for (std::uint32_t layer = of_layers.first; layer < of_layers.last; ++layer)
    for (const bool backward : {false, true}) {
      const models::LayerSpan& spans = program.layers[layer];
      const models::Span span = backward ? spans.backward : spans.forward;
      for (std::uint32_t i = span.first; i < span.last; ++i)
        for (const models::Operand& operand : program.operators[i].operands)
          note_use(uses[operand.tensor], operand.access, layer, layers, backward,
                   !backward && runs_again[i]);
    }
  return uses;
}

}  // namespace spillway::strategies
