#include "tests/house/architecture.hpp"

#include <algorithm>
#include <optional>
#include <regex>
#include <stdexcept>

#include "tests/house/cpp_text.hpp"

namespace spillway::house {
namespace {

using Cells = std::vector<std::string>;

std::vector<std::string> backquoted(const std::string& cell) {
  static const std::regex word("`([^`]+)`");
  std::vector<std::string> words;
  for (std::sregex_iterator it(cell.begin(), cell.end(), word), end; it != end; ++it) {
    words.push_back((*it)[1]);
  }
  return words;
}

Cells cells_of(std::string_view row) {
  Cells cells;
  row.remove_prefix(1);
  while (!row.empty()) {
    const std::size_t end = row.find('|');
    cells.emplace_back(row.substr(0, end));
    row.remove_prefix(end == std::string_view::npos ? row.size() : end + 1);
  }
  return cells;
}

/// The rows under the heading that begins with `first_cell`.
std::vector<Cells> table(std::string_view markdown, std::string_view first_cell) {
  const std::string heading = "| " + std::string(first_cell) + " |";
  std::vector<Cells> rows;
  bool inside = false;
  for (const auto line : lines_of(markdown)) {
    if (line.starts_with(heading)) {
      inside = true;
    } else if (inside && !line.starts_with('|')) {
      break;
    } else if (inside && !line.starts_with("|---")) {
      rows.push_back(cells_of(line));
    }
  }
  if (rows.empty()) throw std::runtime_error("no table \"" + heading + "\" in ARCHITECTURE.md");
  return rows;
}

const std::string& cell(const Cells& row, std::size_t index) {
  if (index >= row.size()) throw std::runtime_error("a row has too few cells: " + row.front());
  return row[index];
}

/// Adds what the included folders may include, until nothing is new.
void close(std::map<std::string, std::set<std::string>>& edges) {
  for (bool grew = true; grew;) {
    grew = false;
    for (auto& [folder, included] : edges) {
      const std::set<std::string> direct = included;
      for (const auto& name : direct) {
        const auto further = edges.find(name);
        if (further == edges.end()) {
          throw std::runtime_error(folder + " may include " + name + ", which has no row");
        }
        const std::size_t before = included.size();
        included.insert(further->second.begin(), further->second.end());
        grew = grew || included.size() > before;
      }
    }
  }
}

/// Folders whose rows, followed, come back to them use each other: none can be understood first.
void refuse_circles(const std::map<std::string, std::set<std::string>>& closed) {
  for (const auto& [folder, included] : closed) {
    for (const auto& other : included) {
      if (other != folder && closed.at(other).contains(folder)) {
        throw std::runtime_error(folder + " and " + other + " may include each other");
      }
    }
  }
}

bool matches(const std::string& pattern, const std::string& header) {
  if (pattern.ends_with('/')) return header.starts_with(pattern);
  if (pattern.ends_with('*')) return header.starts_with(pattern.substr(0, pattern.size() - 1));
  return header == pattern;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Include {
  int line = 0;
  bool quoted = false;
  std::string header;
};

std::vector<Include> includes_of(const std::string& text) {
  static const std::regex directive(R"(^\s*#\s*include\b)");
  static const std::regex target(R"(include\s*([<"])([^>"]+)[>"])");
  const std::string code = code_only(text);
  const auto originals = lines_of(text);
  const auto lines = lines_of(code);
  std::vector<Include> includes;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    const std::string original(originals[index]);
    std::smatch match;
    if (!std::regex_search(std::string(lines[index]), directive)) continue;
    if (!std::regex_search(original, match, target)) continue;
    includes.push_back({static_cast<int>(index) + 1, match[1] == "\"", match[2]});
  }
  return includes;
}

/// Why `folder` may not include the vendor's or the library's `header`; nothing when it may.
std::optional<std::string> outside_fault(const Architecture& architecture,
                                         const std::string& folder, const std::string& header) {
  for (const auto& rule : architecture.outside) {
    const bool named = std::any_of(rule.names.begin(), rule.names.end(),
                                   [&](const auto& name) { return matches(name, header); });
    if (!named) continue;
    if (contains(rule.folders, "*") || contains(rule.folders, folder)) return std::nullopt;
    return "<" + header + "> is not for " + folder;
  }
  const bool standard = header.find_first_of("./") == std::string::npos;
  if (standard) return std::nullopt;
  return "<" + header + "> has no row in ARCHITECTURE.md";
}

std::optional<std::string> own_fault(const Architecture& architecture,
                                     const std::set<std::string>& paths, const std::string& folder,
                                     const std::string& header) {
  if (!paths.contains(header)) {
    return "\"" + header + "\" is not a file of ours, written from the root";
  }
  const std::string other = folder_of(architecture, header);
  if (other.empty() || architecture.may_include.at(folder).contains(other)) return std::nullopt;
  return folder + " may not include " + other + " (\"" + header + "\")";
}

}  // namespace

Architecture parse_architecture(std::string_view markdown) {
  Architecture architecture;
  for (const auto& row : table(markdown, "folder")) {
    const auto names = backquoted(cell(row, 0));
    const auto included = backquoted(cell(row, 2));
    if (names.size() != 1) throw std::runtime_error("a row needs one folder: " + row.front());
    auto& set = architecture.may_include[names.front()];
    set.insert(included.begin(), included.end());
    set.insert(names.front());
  }
  close(architecture.may_include);
  refuse_circles(architecture.may_include);
  for (const auto& row : table(markdown, "header")) {
    OutsideRule rule{backquoted(cell(row, 0)), backquoted(cell(row, 1))};
    for (const auto& folder : rule.folders) {
      if (folder != "*" && !architecture.may_include.contains(folder)) {
        throw std::runtime_error(row.front() + "is allowed in " + folder + ", which has no row");
      }
    }
    architecture.outside.push_back(std::move(rule));
  }
  return architecture;
}

std::string folder_of(const Architecture& architecture, const std::string& path) {
  std::string best;
  for (const auto& [folder, included] : architecture.may_include) {
    if (path.starts_with(folder + "/") && folder.size() > best.size()) best = folder;
  }
  return best;
}

Findings include_findings(const Architecture& architecture, const std::vector<SourceFile>& files) {
  std::set<std::string> paths;
  for (const auto& file : files) paths.insert(file.path);
  Findings findings;
  for (const auto& file : files) {
    if (!is_cpp(file.path)) continue;
    const std::string folder = folder_of(architecture, file.path);
    if (folder.empty()) {
      findings.push_back(file.path + ":1: its folder has no row in ARCHITECTURE.md");
      continue;
    }
    for (const auto& include : includes_of(file.text)) {
      const auto fault = include.quoted ? own_fault(architecture, paths, folder, include.header)
                                        : outside_fault(architecture, folder, include.header);
      if (fault) {
        findings.push_back(file.path + ":" + std::to_string(include.line) + ": " + *fault);
      }
    }
  }
  return findings;
}

}  // namespace spillway::house
