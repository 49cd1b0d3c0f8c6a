#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace spillway::cli {

/// An option or a positional, in the words of `--help`.
struct CommandOption {
  std::vector<std::string> names;  ///< "-h", "--help"; of a positional its one name
  std::string value;               ///< what follows the names: "PATH=VALUE"; "" for a flag
  std::string description;
  std::vector<std::string> choices;  ///< the values it takes, where they are a list
  bool takes_value = false;          ///< and cannot do without
};

/// A verb, or the program itself, with what is below it.
struct Command {
  std::string words;  ///< "spillway plan drives"
  std::string usage, description, footer;
  std::vector<CommandOption> positionals, options;
  std::vector<Command> verbs;

  /// The last of its words.
  std::string name() const { return words.substr(words.rfind(' ') + 1); }
};

/// What `--help` of the program and of each verb shows, as data: manual pages and completions are
/// made of it. Hidden options and verbs are left out, as there.
Command command_tree(const CLI::App& app);

/// The tree, flat: each command before those below it.
std::vector<const Command*> all_commands(const Command& root);

}  // namespace spillway::cli
