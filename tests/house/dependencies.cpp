#include "tests/house/dependencies.hpp"

#include <map>
#include <sstream>

namespace spillway::house {

namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// What stands in backticks.
std::vector<std::string> names_in(const std::string& cell) {
  std::vector<std::string> names;
  for (std::size_t open = cell.find('`'); open != std::string::npos;) {
    const std::size_t close = cell.find('`', open + 1);
    if (close == std::string::npos) break;
    names.push_back(cell.substr(open + 1, close - open - 1));
    open = cell.find('`', close + 1);
  }
  return names;
}

/// The last cell of the row that names it, by name.
std::map<std::string, std::string> last_cells(const std::string& readme) {
  std::map<std::string, std::string> cells;
  std::istringstream lines(readme);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|") || !line.ends_with("|")) continue;
    const std::size_t second = line.find('|', 1), last = line.rfind('|', line.size() - 2);
    if (second >= last) continue;
    for (const std::string& name : names_in(line.substr(1, second - 1)))
      cells[name] = trimmed(line.substr(last + 1, line.size() - last - 2));
  }
  return cells;
}

}  // namespace

Findings licence_findings(const SourceFile& packages, const SourceFile& readme) {
  const auto cells = last_cells(readme.text);
  Findings findings;
  std::istringstream lines(packages.text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string package = trimmed(line.substr(0, line.find('#')));
    if (package.empty()) continue;
    const std::string place = packages.path + ":" + std::to_string(number) + ": " + package;
    const auto cell = cells.find(package);
    if (cell == cells.end())
      findings.push_back(place + " has no row in the table of dependencies in " + readme.path);
    else if (cell->second.empty())
      findings.push_back(place + " has a row without a licence in " + readme.path);
  }
  return findings;
}

}  // namespace spillway::house
