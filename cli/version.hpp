#pragma once

#include <string>

namespace spillway::cli {

/// "0.1.0"
std::string version_number();

/// "spillway 0.1.0, commit 2f1c6b0a9d of 2026-11-22, model version 3": with the same commit and
/// model version the same scenario gives the same numbers. The commit is what a file beside the
/// program says, written with each build; it says so where there was no git.
std::string version_text();

}  // namespace spillway::cli
