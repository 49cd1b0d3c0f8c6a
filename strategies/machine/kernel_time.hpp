#pragma once

#include "models/program/step_program.hpp"
#include "scenarios/description/scenario.hpp"
#include "strategies/machine/operation.hpp"

namespace spillway::strategies {

/// By how much a product is larger than its operands: a third of the harmonic mean of its rows,
/// columns and inner width; 0 of what is no product.
double product_side(const models::Operator& op);

/// The tokens of a product, and the harmonic mean of its other two sides; zeros of what is no
/// product.
struct ProductShape {
  double tokens = 0, width = 0;
};
ProductShape product_shape(const models::Operator& op);

/// Which of the GPU's rates is its own.
KernelRate rate_of(const models::Operator& op);

/// What of a kernel's cost follows from the operator that it carries out.
void add_shape(LoggedKernel& kernel, const models::Operator& op);

/// An operator of a forward or a backward pass, as machines log it: its cost but for its time.
LoggedKernel kernel_of_pass(const models::Operator& op);

/// Share of `gpu.compute` that a product of that side reaches: x / (x + matrix_half), in shares of
/// what matrix_reference reaches, at most 1.
double product_share(double side, const description::GpuSpec& gpu);
/// The same by `gpu.products`, which is not empty: between its shapes on the line over the
/// logarithms of tokens and of width; of larger ones as of its largest; of smaller ones less, as
/// matrix_half says.
double product_share(ProductShape shape, const description::GpuSpec& gpu);

/// What a kernel takes on the scenario's GPU: the longer of its products and its memory traffic,
/// and its launch. Before it packed weights are widened, by a kernel of its own at
/// `gpu.memory_rate`; products with narrow matrices that it has inside come beside its own, with a
/// launch: the longer of their arithmetic and their traffic. An update by Adam goes at
/// `gpu.adam`, attention at `gpu.attention`, a reduction at `gpu.reduction` and what puts tokens in
/// the order of experts at `gpu.permute` where the machine has them.
///   Throws  ScenarioError: no compute rate; InternalError: no memory rate
double kernel_seconds(const LoggedKernel& kernel, const description::Scenario& scenario);

/// Whether the machine has all rates that kernel_seconds asks for in this training's passes.
bool has_kernel_rates(const description::Scenario& scenario);

/// Whether kernels of passes take as long on both.
bool same_kernel_rates(const description::GpuSpec& one, const description::GpuSpec& other);

/// What a thread of the host takes to launch a kernel of a pass: `host.launch`, and
/// `host.module_hooks` before a module whose weights ZeRO-3 gathers with `weights.hooks`.
double launching_seconds(const LoggedKernel& kernel, const description::Scenario& scenario);

/// The thread that launches takes at least half as long for a forward pass as the GPU for its
/// kernels, so that the GPU waits for it somewhere.
bool launches_hold_up(const models::StepProgram& program, const description::Scenario& scenario);

/// A copy between a GPU and its host, alone on its link.
double copy_seconds(std::uint64_t bytes, bool to_gpu, bool pageable,
                    const description::MachineFile& machine);

}  // namespace spillway::strategies
