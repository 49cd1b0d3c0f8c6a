#pragma once

#include "cli/command_tree.hpp"

namespace spillway::cli {

/// "spillway-plan-drives": the name of a command's manual page, in section 1.
std::string man_name(const Command& command);

/// A command's manual page, in man(7)'s macros.
///   parent   the command above, which the page refers to; nullptr for the program's own page
///   version  "spillway 0.1.0"
std::string man_page(const Command& command, const Command* parent, const std::string& version);

}  // namespace spillway::cli
