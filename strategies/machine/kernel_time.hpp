#pragma once

#include "models/step_program.hpp"
#include "scenarios/description/scenario.hpp"
#include "strategies/machine/operation.hpp"

namespace spillway::strategies {

/// By how much a product is larger than its operands: a third of the harmonic mean of its rows,
/// columns and inner width; 0 of what is no product.
double product_side(const models::Operator& op);

/// Which of the GPU's rates is its own.
KernelRate rate_of(const models::Operator& op);

/// An operator of a forward or a backward pass, as machines log it: its cost but for its time.
LoggedKernel kernel_of_pass(const models::Operator& op);

/// Share of `gpu.compute` that a product of that side reaches: x / (x + matrix_half), in shares of
/// what matrix_reference reaches, at most 1.
double product_share(double side, const description::GpuSpec& gpu);

/// What a kernel takes on the scenario's GPU: the longer of its products and its memory traffic,
/// and its launch; before it packed weights are widened, by a kernel of its own at
/// `gpu.memory_rate`. An update by Adam goes at `gpu.adam`, attention at `gpu.attention` and a
/// reduction at `gpu.reduction` where the machine has them.
///   Throws  ScenarioError: no compute rate; InternalError: no memory rate
double kernel_seconds(const LoggedKernel& kernel, const description::Scenario& scenario);

/// A copy between a GPU and its host, alone on its link.
double copy_seconds(std::uint64_t bytes, bool to_gpu, bool pageable,
                    const description::MachineFile& machine);

}  // namespace spillway::strategies
