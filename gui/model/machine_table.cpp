#include "gui/model/machine_table.hpp"

#include "gui/model/text.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/document/read_machine.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace spillway::gui {

using nlohmann::json;

namespace {

/// The source of a number that somebody wrote here.
constexpr const char* by_hand = "assumed: changed here by hand";
constexpr const char* changed_name = ", changed";

/// Leaves by dotted path; items of a list by their name.
void flatten(const json& value, const std::string& path, std::map<std::string, std::string>& into) {
  if (value.is_object()) {
    for (const auto& [key, one] : value.items())
      if (!path.empty() || (key != "sources" && key != "dates" && key != "bought"))
        flatten(one, path.empty() ? key : path + "." + key, into);
  } else if (value.is_array() && !value.empty() && value[0].is_object()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      flatten(value[i], path + "." + value[i].value("name", std::to_string(i)), into);
  } else {
    into[path] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

/// Of the path, or of what is around it.
std::string source_of(const json& sources, std::string path) {
  while (sources.is_object()) {
    if (const auto found = sources.find(path); found != sources.end() && found->is_string())
      return found->get<std::string>();
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) break;
    path.resize(dot);
  }
  return "";
}

}  // namespace

int put_machine(const json& machine, const QString& filter, TextTable& table) {
  std::map<std::string, std::string> leaves;
  flatten(machine, "", leaves);
  const json sources = machine.is_object() ? machine.value("sources", json::object()) : json();
  std::vector<std::vector<Cell>> rows;
  int assumed = 0;
  const QStringList words = filter.split(' ', Qt::SkipEmptyParts);
  for (const auto& [path, value] : leaves) {
    const QString source = qt(source_of(sources, path));
    const int colon = static_cast<int>(source.indexOf(':'));
    const QString kind = colon > 0 ? source.left(colon) : source.section(' ', 0, 0);
    const QString where = colon > 0 ? source.mid(colon + 1).trimmed() : QString();
    const bool is_assumed = kind == "assumed";
    assumed += is_assumed;
    const QString all = qt(path) + " " + qt(value) + " " + source;
    bool shown = true;
    for (const QString& word : words) shown = shown && all.contains(word, Qt::CaseInsensitive);
    if (!shown) continue;
    std::vector<Cell> row = {text_cell(qt(path)), text_cell(qt(value)), text_cell(kind),
                             text_cell(where, where)};
    row[1].edit = qt(value);
    if (source == by_hand) row[1].text += " (changed)";
    row[2].mood = is_assumed ? Cell::Mood::bad : Cell::Mood::plain;
    row[3].mood = Cell::Mood::quiet;
    rows.push_back(std::move(row));
  }
  table.set({"Number", "Value", "Source", "Where from"}, std::move(rows));
  return assumed;
}

namespace {

/// Without what a reader fills in, as that may follow from the number that changes.
json without_defaults(const json& machine) {
  json stated = machine;
  const json sources = machine.value("sources", json::object());
  for (const auto& [path, source] : sources.items()) {
    if (!source.get<std::string>().starts_with("default")) continue;
    const std::size_t dot = path.rfind('.');
    const std::string last = path.substr(dot + 1);
    json* parent =
        dot == std::string::npos ? &stated : scenarios::value_at(stated, path.substr(0, dot));
    if (parent && parent->is_object()) parent->erase(last);
    stated["sources"].erase(path);
  }
  return stated;
}

}  // namespace

json changed_machine(const json& machine, const std::string& path, const std::string& value) {
  const scenarios::Document document =
      scenarios::assemble(scenarios::located_at({{"machine", without_defaults(machine)}}, {}),
                          {"machine." + path + "=" + value});
  auto complaints = document.complaints;
  if (complaints.empty()) complaints = scenarios::check_machine(document.machine.json, "machine");
  if (!complaints.empty()) throw description::ScenarioError(complaints);
  json changed = document.machine.json.value;
  changed["sources"][path] = by_hand;
  const std::string name = changed.value("name", "machine");
  if (path != "name" && !name.ends_with(changed_name)) changed["name"] = name + changed_name;
  return changed.get<description::MachineFile>();
}

json with_card_link(const json& machine, const Link& link) {
  constexpr auto rates = description::Dimension::bytes_per_second;
  const double rate = card_rate(link);
  const std::string text = link.lanes > 0 ? fmt::format("{:.3g} GB/s", rate / 1e9) : words_of(link);
  json changed = machine;
  for (const char* way : {"pcie.h2d", "pcie.d2h"}) changed = changed_machine(changed, way, text);
  for (const char* way : {"pageable_h2d", "pageable_d2h"}) {
    const std::string before = changed.at("pcie").value(way, std::string());
    if (description::parse_quantity(rates, before).value > rate)
      changed = changed_machine(changed, std::string("pcie.") + way, text);
  }
  return changed;
}

bool is_changed(const json& machine) {
  if (!machine.is_object() || !machine.contains("sources")) return false;
  const json& sources = machine["sources"];
  return std::any_of(sources.begin(), sources.end(),
                     [](const json& source) { return source == by_hand; });
}

}  // namespace spillway::gui
