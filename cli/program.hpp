#pragma once

namespace spillway::cli {

/// The program: 0 an answer (infeasible is one), 1 a comparison that should
/// hold and does not, 2 the user's input, 3 a device, 4 a bug of ours.
/// With --json errors are JSON on standard output, else one line each on standard error.
int run_program(int argc, const char* const* argv);

}  // namespace spillway::cli
