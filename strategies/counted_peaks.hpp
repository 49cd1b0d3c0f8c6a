#pragma once

#include "models/step_program.hpp"
#include "scenarios/description/scenario.hpp"
#include "strategies/activation_plan.hpp"

namespace spillway::strategies {

struct CountedPeaks {
  bool fits = true;        ///< no allocation failed: of GPU memory, where it was limited
  std::uint64_t gpu = 0;   ///< of the fullest rank
  std::uint64_t host = 0;  ///< of a node
};

/// What a step of the scenario would take of memory if its activations went as `activations` says:
/// a counting run, in host memory without end.
enum class GpuLimit : bool { none, machine };
CountedPeaks counted_peaks(description::Scenario scenario, const models::Model& model,
                           const models::StepProgram& program, const ActivationPlan& activations,
                           GpuLimit limit = GpuLimit::none);

}  // namespace spillway::strategies
