#pragma once

#include "models/program/step_program.hpp"

#include <limits>
#include <vector>

namespace spillway::strategies {

/// When a tensor is touched, in passes: the forward of layer i is i, its backward 2 L - 1 - i.
struct TensorUse {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t first = none;
  std::uint32_t last = 0;
  std::uint32_t layer = none;  ///< some layer that touches it; none: nobody does
  bool several_layers = false;
  bool in_backward = false;
  bool read_later = false;  ///< in backward, or by what runs again there
  std::uint32_t first_layer = 0, last_forward_layer = 0, last_layer = 0;
};

/// By tensor, of the forward and the backward of some layers.
///   runs_again  by operator: one of forward that runs once more beside the backward of its layer
std::vector<TensorUse> uses_of(const models::StepProgram& program,
                               const std::vector<bool>& runs_again, models::Span of_layers);

}  // namespace spillway::strategies
