#pragma once

#include "scenarios/description/scenario.hpp"
#include "strategies/operation.hpp"

namespace spillway::strategies {

/// What a kernel takes on the scenario's GPU: the longer of its products and its memory traffic,
/// and its launch. An update by Adam goes at `gpu.adam` where the machine has it.
///   Throws  ScenarioError: no compute rate; InternalError: no memory rate
double kernel_seconds(const LoggedKernel& kernel, const description::Scenario& scenario);

/// A copy between a GPU and its host, alone on its link.
double copy_seconds(std::uint64_t bytes, bool to_gpu, bool pageable,
                    const description::MachineFile& machine);

}  // namespace spillway::strategies
