#pragma once

#include "strategies/layout/layer_plan.hpp"

#include <functional>
#include <vector>

namespace spillway::strategies {

/// An operator of a pass; of its layer's forward, that runs again in backward, or not.
struct Turn {
  std::uint32_t op;
  bool recompute;
};
using Pass = std::vector<Turn>;

/// A layer's backward in which what runs again does so when it is needed: each operator of `again`
/// before the first of `backward` that touches what it makes, or writes what it reads, itself or by
/// others of `again`.
Pass as_needed(const models::StepProgram& program, const Pass& again, const Pass& backward);

/// By turn: no later one uses one of the tensors that count, which it uses.
std::vector<bool> last_uses(const models::StepProgram& program, const Pass& pass,
                            const std::function<bool(models::TensorId)>& counts);

/// Which tensors that come back the segments of `plan`'s backward use first, and which last:
/// Segment::needs, releases. What only its recomputation uses is in none.
void note_parts(LayerPlan& plan, const std::vector<MovedTensor>& moved);

}  // namespace spillway::strategies
