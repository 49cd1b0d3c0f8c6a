#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/house/repository.hpp"

namespace spillway::house {

/// A row of "Headers from outside": names, and the folders that may include them.
struct OutsideRule {
  std::vector<std::string> names;    ///< exact, or with '/' or '*' last: all that begins so
  std::vector<std::string> folders;  ///< "*": every folder
};

/// The tables of ARCHITECTURE.md.
struct Architecture {
  std::map<std::string, std::set<std::string>> may_include;  ///< with itself, and all that follows
  std::vector<OutsideRule> outside;
};

/// Reads the two tables; what counts in a cell is what stands between backquotes.
///   Throws  std::runtime_error when a table is missing, or a row names an unknown folder
Architecture parse_architecture(std::string_view markdown);

/// The folder of the table whose name is the longest that fits `path`; "" when there is none.
std::string folder_of(const Architecture& architecture, const std::string& path);

/// Includes in the C++ files among `files` that the tables do not allow, includes of our headers
/// that are not there or not written from the root, and files outside every folder.
Findings include_findings(const Architecture& architecture, const std::vector<SourceFile>& files);

}  // namespace spillway::house
