#include "tests/house/repository.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

namespace spillway::house {
namespace {

namespace fs = std::filesystem;

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      result += "'\\''";
    } else {
      result += letter;
    }
  }
  return result + "'";
}

std::string read_text(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

CommandResult run_command(const fs::path& folder, const std::string& command) {
  const std::string line = "cd " + quoted(folder.string()) + " && { " + command + "\n} 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start a shell");
  CommandResult result;
  std::array<char, 4096> block{};
  while (const std::size_t count = fread(block.data(), 1, block.size(), pipe)) {
    result.output.append(block.data(), count);
  }
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return result;
}

std::vector<SourceFile> repository_files(const fs::path& root) {
  // The tree may belong to somebody else, as in a container.
  const auto listed = run_command(
      root, "git -c safe.directory='*' -c core.quotePath=off ls-files -co --exclude-standard");
  if (listed.exit_code != 0) throw std::runtime_error(listed.output);
  std::vector<SourceFile> files;
  std::istringstream lines(listed.output);
  for (std::string path; std::getline(lines, path);) {
    if (!fs::is_regular_file(root / path)) continue;  // deleted, not yet committed
    std::string text = read_text(root / path);
    if (text.find('\0') == std::string::npos) files.push_back({path, std::move(text)});
  }
  return files;
}

bool is_cpp(const std::string& path) {
  const auto extension = fs::path(path).extension();
  return extension == ".cpp" || extension == ".hpp" || extension == ".h" || extension == ".cu" ||
         extension == ".cuh";
}

bool is_code(const SourceFile& file) {
  const fs::path path(file.path);
  return is_cpp(file.path) || path.extension() == ".cmake" || path.filename() == "CMakeLists.txt" ||
         file.text.starts_with("#!");
}

Findings layout_findings(const fs::path& root, const std::vector<SourceFile>& files) {
  std::string command = "clang-format-14 --dry-run -Werror /dev/null";
  for (const auto& file : files) {
    if (is_cpp(file.path)) command += ' ' + quoted(file.path);
  }
  const auto formatted = run_command(root, command);
  Findings findings;
  std::set<std::string> reported;
  std::istringstream lines(formatted.output);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error:") == std::string::npos) continue;
    const bool first = reported.insert(line.substr(0, line.find(':'))).second;
    if (first) findings.push_back(line + "; run clang-format-14 -i on it");
  }
  if (formatted.exit_code != 0 && findings.empty()) findings.push_back(formatted.output);
  return findings;
}

Findings orphan_findings(const std::vector<SourceFile>& files) {
  std::map<fs::path, const std::string*> lists;
  for (const auto& file : files) {
    const fs::path path(file.path);
    if (path.filename() == "CMakeLists.txt") lists[path.parent_path()] = &file.text;
  }
  Findings findings;
  for (const auto& file : files) {
    if (fs::path(file.path).extension() != ".cpp") continue;
    fs::path folder = fs::path(file.path).parent_path();
    while (!folder.empty() && !lists.contains(folder)) folder = folder.parent_path();
    const auto list = lists.find(folder);
    const std::string name = fs::path(file.path).lexically_relative(folder).generic_string();
    if (list == lists.end() || (list->second->find(name) == std::string::npos &&
                                list->second->find("GLOB") == std::string::npos)) {
      findings.push_back(file.path + ":1: no CMakeLists.txt names it");
    }
  }
  return findings;
}

}  // namespace spillway::house
