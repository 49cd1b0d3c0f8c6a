#pragma once

#include "cli/verbs.hpp"

namespace spillway::cli {

/// `explore show`: what a database of explorations holds.
void add_explore_show(CLI::App& verb);
/// `explore explain`: why one of its points is what it is.
void add_explore_explain(CLI::App& verb);

}  // namespace spillway::cli
