#pragma once

#include "cli/command_tree.hpp"

namespace spillway::cli {

/// What a shell reads to complete words of the program: verbs, options, the values of those that
/// take one of a list, and else files.
std::string bash_completion(const Command& root);
std::string zsh_completion(const Command& root);
std::string fish_completion(const Command& root);

}  // namespace spillway::cli
