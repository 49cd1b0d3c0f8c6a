#pragma once

#include "models/program/step_program.hpp"

namespace spillway::models {

/// Verifies what StepProgram promises; for tests and for whoever builds a program by hand.
///   Throws  InternalError naming the first operator or tensor that breaks a promise
void check(const StepProgram& program);

}  // namespace spillway::models
