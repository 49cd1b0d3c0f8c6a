#include "tests/house/sizes.hpp"

#include <algorithm>
#include <string>

#include "tests/house/cpp_text.hpp"

namespace spillway::house {
namespace {

std::string finding(const SourceFile& file, int line, const std::string& what, int is, int most) {
  return file.path + ":" + std::to_string(line) + ": " + what + " has " + std::to_string(is) +
         ", at most " + std::to_string(most);
}

}  // namespace

int columns_of(std::string_view line) {
  const auto begins_letter = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  };
  return static_cast<int>(std::count_if(line.begin(), line.end(), begins_letter));
}

Findings file_findings(const std::vector<SourceFile>& files) {
  Findings findings;
  for (const auto& file : files) {
    const int lines = static_cast<int>(lines_of(file.text).size());
    const bool readme = file.path.ends_with("/README.md");
    const int most = readme ? most_folder_readme_lines : most_file_lines;
    if ((readme || is_code(file)) && lines > most) {
      findings.push_back(finding(file, most + 1, "the file in lines", lines, most));
    }
  }
  return findings;
}

Findings function_findings(const std::vector<SourceFile>& files) {
  Findings findings;
  for (const auto& file : files) {
    if (!is_cpp(file.path)) continue;
    for (const auto& span : functions_of(file.text)) {
      const int lines = span.last_line - span.first_line + 1;
      if (lines > most_function_lines) {
        findings.push_back(
            finding(file, span.first_line, "the function in lines", lines, most_function_lines));
      }
    }
  }
  return findings;
}

Findings line_findings(const std::vector<SourceFile>& files) {
  Findings findings;
  for (const auto& file : files) {
    if (!is_code(file)) continue;
    int number = 0;
    for (const auto line : lines_of(file.text)) {
      ++number;
      const int columns = columns_of(line);
      if (columns > most_columns) {
        findings.push_back(finding(file, number, "the line in columns", columns, most_columns));
      }
    }
  }
  return findings;
}

}  // namespace spillway::house
