#pragma once

#include "strategies/machine/machine.hpp"

/// The work beside the step program that parts issue on a GPU.
namespace spillway::strategies {

/// First values of a weight or of its states.
///   into           what is written; its role, type and index say what it is
///   first_element  of the weight: where `into` begins
///   Traffic        what is written
inline GpuKernel first_values_on_gpu(BoundOperand into, std::uint64_t first_element) {
  GpuKernel kernel;
  kernel.name = "initialize";
  kernel.work = GpuWork::initialize;
  kernel.bytes = static_cast<double>(into.view.bytes);
  kernel.first_element = first_element;
  kernel.operands.push_back(std::move(into));
  return kernel;
}

}  // namespace spillway::strategies
