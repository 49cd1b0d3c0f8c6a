#include "reports/run/csv.hpp"

#include "scenarios/description/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

namespace spillway::reports {

using nlohmann::json;

namespace {

constexpr const char* first_columns[] = {"scenario.name", "system", "backend", "feasible",
                                         "step_time_s"};

std::string leaf(const json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get_ref<const std::string&>() : description::json_text(value);
}

void flatten_into(std::map<std::string, std::string>& leaves, const std::string& path,
                  const json& value) {
  if (value.is_object()) {
    for (const auto& [key, child] : value.items())
      flatten_into(leaves, path.empty() ? key : path + "." + key, child);
  } else if (value.is_array()) {
    const bool simple = std::none_of(value.begin(), value.end(),
                                     [](const json& item) { return item.is_structured(); });
    if (!simple) return;
    std::string& text = leaves[path];
    for (const json& item : value) text += (&item == &value.front() ? "" : "; ") + leaf(item);
  } else {
    leaves[path] = leaf(value);
  }
}

/// Spreadsheets compute what begins so; an apostrophe before it makes it text. A sign alone, as
/// tables have it for nothing, computes nothing.
///   Source  OWASP, CSV Injection
bool is_formula(const std::string& field) {
  if (field.size() < 2 ||
      std::string_view("=+-@\t\r").find(field.front()) == std::string_view::npos)
    return false;
  char* end = nullptr;
  std::strtod(field.c_str(), &end);
  return end != field.c_str() + field.size();  // a number is none
}

std::string field_text(const std::string& text) {
  const std::string field = is_formula(text) ? "'" + text : text;
  const bool blank_ends = field.starts_with(' ') || field.ends_with(' ');
  if (!blank_ends && field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::vector<std::string> header_of(const std::vector<std::map<std::string, std::string>>& rows) {
  std::set<std::string> paths;
  for (const auto& row : rows)
    for (const auto& [path, text] : row) paths.insert(path);
  std::vector<std::string> header;
  for (const char* path : first_columns)
    if (paths.erase(path) > 0) header.emplace_back(path);
  header.insert(header.end(), paths.begin(), paths.end());
  return header;
}

void write_line(std::ostream& out, const std::vector<std::string>& fields) {
  // A lone empty field must be quoted: an empty line would be no record at all.
  if (fields.size() == 1 && fields[0].empty()) {
    out << "\"\"\n";
    return;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) out << (i ? "," : "") << field_text(fields[i]);
  out << '\n';
}

}  // namespace

std::map<std::string, std::string> flattened(const json& result) {
  std::map<std::string, std::string> leaves;
  flatten_into(leaves, "", result);
  return leaves;
}

void write_csv(std::ostream& out, std::span<const json> results) {
  std::vector<std::map<std::string, std::string>> rows;
  for (const json& result : results) rows.push_back(flattened(result));
  const std::vector<std::string> header = header_of(rows);
  std::vector<std::vector<std::string>> lines;
  for (const auto& row : rows) {
    std::vector<std::string>& fields = lines.emplace_back();
    for (const std::string& path : header) {
      const auto found = row.find(path);
      fields.push_back(found == row.end() ? "" : found->second);
    }
  }
  write_csv(out, header, lines);
}

void write_csv(std::ostream& out, const std::vector<std::string>& header,
               const std::vector<std::vector<std::string>>& rows) {
  if (header.empty()) return;
  write_line(out, header);
  for (const auto& row : rows) write_line(out, row);
}

}  // namespace spillway::reports
