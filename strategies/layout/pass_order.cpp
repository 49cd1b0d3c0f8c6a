#include "strategies/layout/pass_order.hpp"

#include <algorithm>

namespace spillway::strategies {

using models::Access;
using models::Operand;
using models::StepProgram;

Pass as_needed(const StepProgram& program, const Pass& again, const Pass& backward) {
  std::vector<std::size_t> touched(program.tensors.size(), backward.size());
  std::vector<std::size_t> written = touched;
  for (std::size_t i = backward.size(); i-- > 0;)
    for (const Operand& operand : program.operators[backward[i].op].operands) {
      touched[operand.tensor] = i;
      if (operand.access != Access::read) written[operand.tensor] = i;
    }
  std::vector<std::size_t> due(again.size(), backward.size());
  for (std::size_t i = again.size(); i-- > 0;) {
    const auto& operands = program.operators[again[i].op].operands;
    for (const Operand& operand : operands)
      due[i] =
          std::min(due[i], (operand.access == Access::read ? written : touched)[operand.tensor]);
    // who makes what it touches comes before it
    for (const Operand& operand : operands) {
      touched[operand.tensor] = std::min(touched[operand.tensor], due[i]);
      if (operand.access != Access::read)
        written[operand.tensor] = std::min(written[operand.tensor], due[i]);
    }
  }
  Pass both;
  for (std::size_t i = 0; i <= backward.size(); ++i) {
    for (std::size_t j = 0; j < again.size(); ++j)
      if (due[j] == i) both.push_back(again[j]);
    if (i < backward.size()) both.push_back(backward[i]);
  }
  return both;
}

std::vector<bool> last_uses(const StepProgram& program, const Pass& pass,
                            const std::function<bool(models::TensorId)>& counts) {
  std::vector<bool> last(pass.size(), false), used(program.tensors.size(), false);
  for (std::size_t turn = pass.size(); turn-- > 0;)
    for (const Operand& operand : program.operators[pass[turn].op].operands)
      if (!used[operand.tensor] && counts(operand.tensor)) last[turn] = used[operand.tensor] = true;
  return last;
}

void note_parts(LayerPlan& plan, const std::vector<MovedTensor>& moved) {
  for (const std::uint32_t i : plan.returns) {
    PassPlan::Segment *first = nullptr, *last = nullptr;
    for (PassPlan::Segment& segment : plan.backward.segments)
      for (const PlannedKernel& kernel : segment.kernels)
        for (const PlannedOperand& operand : kernel.operands)
          if (operand.tensor == moved[i].tensor) {
            if (!first) first = &segment;
            last = &segment;
          }
    if (!first) continue;  // only what runs again before it does
    first->needs.push_back(i);
    last->releases.push_back(i);
  }
}

}  // namespace spillway::strategies
