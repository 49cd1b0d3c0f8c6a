#pragma once

#include "strategies/machine/machine.hpp"

/// The work beside the step program that parts issue on a GPU.
namespace spillway::strategies {

/// First values of a weight or of its states.
///   into           what is written; roles, types and indices say what it is
///   first_element  of the weight: where each of them begins
///   Traffic        what is written
inline GpuKernel first_values_on_gpu(std::vector<BoundOperand> into, std::uint64_t first_element) {
  GpuKernel kernel;
  kernel.name = "initialize";
  kernel.work = GpuWork::initialize;
  for (const BoundOperand& operand : into) kernel.bytes += static_cast<double>(operand.view.bytes);
  kernel.first_element = first_element;
  kernel.operands = std::move(into);
  return kernel;
}

}  // namespace spillway::strategies
