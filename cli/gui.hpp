#pragma once

#include <CLI/CLI.hpp>

namespace spillway::cli {

/// `spillway gui`: hands over to the application, which is a program of its own.
void add_gui(CLI::App& app);

}  // namespace spillway::cli
