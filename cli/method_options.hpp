#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace spillway::cli {

/// What of the model is trained, where no scenario says it.
struct MethodOptions {
  std::string method;   ///< "lora"; "": full, or as `adapter` says
  std::string adapter;  ///< a file of PEFT's
};

/// --method and --adapter.
void add_method(CLI::App& verb, MethodOptions& options);

/// "path=value" that says so to a scenario; empty where nothing is said.
///   Throws  ScenarioError
std::vector<std::string> method_overrides(const MethodOptions& options);

}  // namespace spillway::cli
