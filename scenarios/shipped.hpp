#pragma once

#include <string>
#include <vector>

namespace spillway::scenarios {

/// Names of the JSON files that ship in `folder` ("scenarios/machines"), without ".json", sorted.
std::vector<std::string> shipped_names(const std::string& folder);

/// The path of `name` in `folder`; the file need not exist.
std::string shipped_file(const std::string& folder, const std::string& name);

}  // namespace spillway::scenarios
