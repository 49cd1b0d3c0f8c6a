#pragma once

#include <string>
#include <vector>

namespace spillway::scenarios {

/// Names of the JSON files that ship in `folder` ("scenarios/machines"), without ".json", sorted.
std::vector<std::string> shipped_names(const std::string& folder);

/// The path of `name` in `folder`; the file need not exist.
std::string shipped_file(const std::string& folder, const std::string& name);

/// A file that is there, else the one at this path from the root of the project ("tests/data/x",
/// as the examples of --help name it), else the path itself: whoever reads it says what is wrong.
std::string own_or_shipped(const std::string& path);

/// The file that a word of a command means: a file that is there, else the name of an example that
/// ships, else a path from the root of the project ("scenarios/examples/tiny.json").
///   folder  where names are looked up: "scenarios/examples"
///   path    of the complaint
///   Throws  ScenarioError with the nearest name
std::string named_file(const std::string& word, const std::string& folder, const std::string& path);

}  // namespace spillway::scenarios
