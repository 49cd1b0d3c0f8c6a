#pragma once

#include <string_view>
#include <vector>

#include "tests/house/repository.hpp"

namespace spillway::house {

constexpr int most_file_lines = 500;
constexpr int most_function_lines = 70;
constexpr int most_columns = 100;
constexpr int most_folder_readme_lines = 40;

/// Letters, not bytes, of one line of UTF-8.
int columns_of(std::string_view line);

/// Code files longer than `most_file_lines`, and README.md of folders longer than theirs.
Findings file_findings(const std::vector<SourceFile>& files);

/// C++ functions longer than `most_function_lines`, from signature to closing brace.
Findings function_findings(const std::vector<SourceFile>& files);

/// Lines of code files wider than `most_columns`.
Findings line_findings(const std::vector<SourceFile>& files);

}  // namespace spillway::house
