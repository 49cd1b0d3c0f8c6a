#pragma once

#include <filesystem>
#include <string_view>

namespace spillway::description {

/// The folder that holds the shipped data: `models/library`, `scenarios/machines`, `.../presets`,
/// `.../schemas`, `.../examples`.
///   Result  $SPILLWAY_DATA when it is set; else `../share/spillway` beside the running program,
///           when it is there; else the source tree that the program was built from
///   Throws  ScenarioError when none of them holds `models/library`, or $SPILLWAY_DATA does not
std::filesystem::path data_root();

/// The file of the plugin `name`: `spillway_<name>.so` in $SPILLWAY_PLUGINS when it is set, else in
/// `../lib/spillway` beside the running program. The file need not exist.
std::filesystem::path plugin_file(std::string_view name);

/// The program `spillway_<name>` that this one starts as a process of its own; it lies beside the
/// plugins. The file need not exist.
std::filesystem::path helper_file(std::string_view name);

/// A line that says which commit the program was built from: `../share/spillway/commit` beside it,
/// in a build tree too. The file need not exist.
std::filesystem::path commit_file();

}  // namespace spillway::description
