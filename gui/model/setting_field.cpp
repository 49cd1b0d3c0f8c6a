#include "gui/model/setting_field.hpp"

#include "scenarios/reading/knobs.hpp"

#include <algorithm>
#include <array>

namespace spillway::gui {

using nlohmann::json;

namespace {

/// Those that the form has fields for, and the system itself.
constexpr std::array<std::string_view, 6> with_fields = {
    "training.sequence",  "training.micro_batch", "training.gradient_accumulation",
    "training.precision", "strategy.system",      "strategy.note"};
/// What a search decides, and what is for people.
constexpr std::array<std::string_view, 5> not_for_searches = {"strategy", "parallel", "name",
                                                              "note", "extends"};

template <class List>
bool holds(const List& list, std::string_view one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

const scenarios::Knob* knob_at(const std::string& path) {
  static const std::vector<scenarios::Knob> all = scenarios::knobs({});
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& knob) { return knob.path == path; });
  return found == all.end() ? nullptr : &*found;
}

json::json_pointer pointer_to(const std::string& path) {
  std::string pointer = "/" + path;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  return json::json_pointer(pointer);
}

/// Splits are always said; those that are as in a new question were not chosen.
bool says(const Question& question, const std::string& path) {
  if (path.starts_with("parallel."))
    return scenario_of(question)[pointer_to(path)] != scenario_of(Question())[pointer_to(path)];
  return question.further.is_object() && question.further.contains(pointer_to(path));
}

bool is_of(const std::string& path, SettingKind kind, bool searches) {
  if (holds(with_fields, path)) return false;
  if (kind == SettingKind::parts) return !searches && path.starts_with("strategy.");
  return path.starts_with("training.") || (!searches && path.starts_with("parallel."));
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void collect(const json& value, const std::string& path, std::vector<std::string>& said) {
  if (!value.is_object()) return said.push_back(path + "=" + text_of(value));
  for (const auto& [key, child] : value.items()) collect(child, path + "." + key, said);
}

}  // namespace

std::vector<SettingField> setting_fields(const Question& question,
                                         const std::vector<Setting>& settings, SettingKind kind) {
  const json scenario = scenario_of(question);
  std::vector<SettingField> fields;
  for (const Setting& one : settings) {
    if (!is_of(one.path, kind, question.searches())) continue;
    const scenarios::Knob* knob = knob_at(one.path);
    if (!knob) continue;  // an item of a list or of an object with names of its own
    const std::size_t last = one.path.rfind('.');
    const std::size_t first = kind == SettingKind::parts ? std::string("strategy.").size() : 0;
    const std::string group = last > first ? one.path.substr(first, last - first) : "";
    const bool said = says(question, one.path);  // what was typed may not be answered yet
    fields.push_back({one.path, group, one.path.substr(last + 1),
                      said ? text_of(scenario.at(pointer_to(one.path))) : one.value,
                      said ? "this question" : one.source, knob->words, knob->values, knob->choices,
                      knob->only_choices, said});
  }
  std::stable_partition(fields.begin(), fields.end(),
                        [](const SettingField& field) { return field.group.empty(); });
  return fields;
}

std::vector<std::string> said_beside_fields(const Question& question) {
  std::vector<std::string> said;
  if (!question.further.is_object()) return said;
  for (const auto& [key, value] : question.further.items())
    if (!holds(not_for_searches, key)) collect(value, key, said);
  return said;
}

Question without_setting(const Question& question, const std::string& path) {
  Question next = question;
  if (path.starts_with("parallel.")) {
    const Question plain;
    next.tensor = path == "parallel.tensor" ? plain.tensor : next.tensor;
    next.pipeline = path == "parallel.pipeline" ? plain.pipeline : next.pipeline;
    next.zero_stage = path == "parallel.zero_stage" ? plain.zero_stage : next.zero_stage;
    next.data = path == "parallel.data" ? plain.data : next.data;
    return next;
  }
  if (!says(question, path)) return next;
  const json::json_pointer at = pointer_to(path);
  next.further.at(at.parent_pointer()).erase(at.back());
  if (next.further.at(at.parent_pointer()).empty() && at.parent_pointer() != json::json_pointer())
    next.further.at(at.parent_pointer().parent_pointer()).erase(at.parent_pointer().back());
  return next;
}

}  // namespace spillway::gui
