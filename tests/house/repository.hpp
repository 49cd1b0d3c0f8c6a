#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace spillway::house {

/// One file of the tree under check.
struct SourceFile {
  std::string path;  ///< from the root, with '/'
  std::string text;
};

/// What is wrong, and where: "path:line: message".
using Findings = std::vector<std::string>;

struct CommandResult {
  int exit_code = 0;
  std::string output;  ///< stdout and stderr
};

/// Runs `command` in a shell in `folder`.
///   Throws  std::runtime_error when no shell can be started
CommandResult run_command(const std::filesystem::path& folder, const std::string& command);

/// Every text file that git tracks under `root`, and every new one that it does not ignore.
///   Throws  std::runtime_error with git's words when `root` is no work tree
std::vector<SourceFile> repository_files(const std::filesystem::path& root);

bool is_cpp(const std::string& path);

/// C++, CMake, and scripts, which begin with "#!".
bool is_code(const SourceFile& file);

/// Places where clang-format 14 would lay out the C++ files among `files` differently.
Findings layout_findings(const std::filesystem::path& root, const std::vector<SourceFile>& files);

/// C++ sources that the nearest CMakeLists.txt above them does not name: nothing compiles them. One
/// that globs names all.
Findings orphan_findings(const std::vector<SourceFile>& files);

}  // namespace spillway::house
