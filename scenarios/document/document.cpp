#include "scenarios/document/document.hpp"

#include <algorithm>
#include <filesystem>

#include "scenarios/description/text.hpp"
#include "scenarios/document/hub_names.hpp"
#include "scenarios/document/machine_parts.hpp"
#include "scenarios/json/python_json.hpp"
#include "scenarios/json/schema_check.hpp"
#include "scenarios/json/shipped.hpp"

namespace spillway::scenarios {

using description::Complaint;
using description::ScenarioError;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view set_option = "--set ";

/// The directory that a relative path at `place` is relative to.
fs::path directory_of(const Place& place) {
  if (place.file.empty() || place.file.starts_with(set_option)) return {};
  return fs::path(place.file).parent_path();
}

bool is_file(const fs::path& path) {
  std::error_code error;  // what cannot be looked at cannot be read
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_directory(status);  // the reader says what is no file
}

/// Their names without the ending, which all have in common and which makes no two alike.
std::vector<std::string> json_files(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = directory.empty() ? fs::path(".") : directory;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Complaint no_file(const Place& place, const std::string& path, const fs::path& file) {
  std::error_code error;
  const bool is_model = path == "model";
  if (fs::is_directory(file, error))
    return {place.file,
            place.line,
            place.column,
            path,
            is_model ? "the folder \"" + file.string() + "\" has no config.json"
                     : "\"" + file.string() + "\" is a folder",
            is_model ? "name a model's folder or file" : "name a file"};
  const std::string near =
      description::nearest_name(file.stem().string(), json_files(file.parent_path()));
  const std::string hint = near.empty() ? "" : "did you mean \"" + near + ".json\"?";
  return {place.file, place.line, place.column, path, "no file \"" + file.string() + "\"", hint};
}

void append(std::vector<Complaint>& all, const std::vector<Complaint>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void merge_at(LocatedJson& base, const LocatedJson& top, const std::string& pointer,
              const std::string& whole) {
  const json* above = top.find(pointer);
  const json* below = base.find(pointer);
  if (above->is_object() && below && below->is_object() && pointer != whole) {
    for (const auto& [key, value] : above->items())
      merge_at(base, top, pointer_to(pointer, key), whole);
    return;
  }
  base.put(pointer, part_of(top, pointer));
  if (const auto key = top.keys.find(pointer); key != top.keys.end())
    base.keys[pointer] = key->second;
}

constexpr std::size_t most_parents = 64;

/// Replaces `extends` by what it names, from the outermost file inwards.
class ExtendsChain {
 public:
  explicit ExtendsChain(std::vector<Complaint>& complaints) : complaints_(complaints) {}

  LocatedJson resolve(LocatedJson document) {
    if (!document.value.is_object() || !document.value.contains("extends")) return document;
    const json parent = document.value["extends"];
    const Place place = document.place("/extends");
    if (!parent.is_string()) return document;  // the schema says what is wrong
    remember(document);
    document.value.erase("extends");
    document.forget("/extends");
    fs::path file = directory_of(place) / parent.get<std::string>();
    if (const fs::path shipped = shipped_file("scenarios/examples", parent.get<std::string>());
        !is_file(file) && is_file(shipped))
      file = shipped;
    if (!is_file(file)) {
      complaints_.push_back(no_file(place, "extends", file));
      return document;
    }
    if (files_.size() > most_parents) {
      complaints_.push_back({place.file, place.line, place.column, "extends",
                             "more than 64 files extend each other, which is the limit", ""});
      return document;
    }
    if (comes_again(file)) {
      complaints_.push_back(
          {place.file, place.line, place.column, "extends",
           "the files extend each other in a circle: " + chain() + " -> " + file.string(), ""});
      return document;
    }
    LocatedJson base;
    try {
      base = read_located(file.string());
    } catch (const ScenarioError& error) {
      append(complaints_, error.complaints());
      return document;
    }
    base = resolve(std::move(base));
    merge_over(base, document, "/strategy");
    base.values[""] = document.place("");
    return base;
  }

 private:
  void remember(const LocatedJson& document) { files_.emplace_back(document.place("").file); }
  bool comes_again(const fs::path& file) const {
    return std::any_of(files_.begin(), files_.end(), [&](const fs::path& earlier) {
      std::error_code error;  // a scenario without a file is equivalent to none
      return fs::equivalent(earlier, file, error);
    });
  }
  std::string chain() const {
    std::string text;
    for (const fs::path& file : files_) text += (text.empty() ? "" : " -> ") + file.string();
    return text;
  }

  std::vector<Complaint>& complaints_;
  std::vector<fs::path> files_;
};

/// One "--set path=value".
struct Override {
  Place place;
  std::vector<std::string> steps;
  LocatedJson value;
};

std::vector<std::string> split_path(const std::string& text) {
  std::vector<std::string> steps(1);
  for (const char c : text) {
    if (c == '.' || c == '[')
      steps.emplace_back();
    else if (c != ']')
      steps.back() += c;
  }
  return steps;
}

std::optional<Override> read_override(const std::string& text, std::vector<Complaint>& complaints) {
  Override result;
  result.place.file = std::string(set_option) + text;
  const std::size_t equals = text.find('=');
  result.steps = split_path(text.substr(0, equals));
  const bool empty_step =
      std::find(result.steps.begin(), result.steps.end(), "") != result.steps.end();
  if (equals == std::string::npos || empty_step) {
    complaints.push_back({result.place.file, 0, 0, "", "not of the form path=value",
                          "write for example --set training.micro_batch=8"});
    return std::nullopt;
  }
  if (description::as_utf8(text) != text) {
    complaints.push_back({result.place.file, 0, 0, "", "is not UTF-8", ""});
    return std::nullopt;
  }
  const std::string value = text.substr(equals + 1);
  json parsed = value;
  try {
    parsed = parse_located(value, "").value;
  } catch (const ScenarioError&) {
    parsed = value;  // a word such as fp16_mixed is no JSON, it is text
  }
  result.value = located_at(parsed, result.place);
  return result;
}

/// Index of the list item that `step` means, by number or by `name`.
std::optional<std::size_t> item_named(const json& list, const std::string& step,
                                      std::vector<std::string>& known) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool named =
        list[i].is_object() && list[i].contains("name") && list[i]["name"].is_string();
    known.push_back(named ? list[i]["name"].get<std::string>() : std::to_string(i));
    if (step == known.back() || step == std::to_string(i)) return i;
  }
  return std::nullopt;
}

/// Sets the value behind steps [first, end) of `document`.
void apply(LocatedJson& document, const Override& change, std::size_t first,
           std::vector<Complaint>& complaints) {
  std::string pointer;
  for (std::size_t i = first; i < change.steps.size(); ++i) {
    const json* at = document.find(pointer);
    const std::string& step = change.steps[i];
    if (at->is_array()) {
      std::vector<std::string> known;
      const auto index = item_named(*at, step, known);
      if (!index) {
        complaints.push_back(unknown_name(change.place, dotted(pointer), step, known));
        return;
      }
      pointer = pointer_to(pointer, std::to_string(*index));
    } else if (at->is_object()) {
      pointer = pointer_to(pointer, step);
      if (!document.find(pointer)) {
        document.put(pointer, located_at(json::object(), change.place));
        document.keys[pointer] = change.place;
      }
    } else {
      complaints.push_back(
          {change.place.file, 0, 0, dotted(pointer), "has nothing inside that could be set", ""});
      return;
    }
  }
  document.put(pointer, change.value);
  if (document.find(parent_of(pointer))->is_object()) document.keys[pointer] = change.place;
}

/// Applies what concerns the scenario itself; the rest is for the model or the machine it names.
void apply_to_scenario(Document& document, const std::vector<Override>& changes) {
  for (const Override& change : changes) {
    const bool referenced = change.steps.front() == "model" || change.steps.front() == "machine";
    if (referenced && change.steps.size() > 1) continue;
    apply(document.scenario, change, 0, document.complaints);
  }
}

void apply_to_referenced(Document& document, const std::vector<Override>& changes, const char* key,
                         Referenced& referenced) {
  for (const Override& change : changes)
    if (change.steps.front() == key && change.steps.size() > 1 && referenced.present)
      apply(referenced.json, change, 1, document.complaints);
}

bool names_part(const Override& change) {
  return change.steps.front() == "machine" && change.steps.back() == "part";
}

/// The pointer of the object in which the change names a part; "" when there is none.
std::string part_pointer(const LocatedJson& machine, const Override& change) {
  if (change.steps.size() == 3) return pointer_to("", change.steps[1]);
  const json* storages = machine.find("/storage");
  std::vector<std::string> known;
  if (change.steps.size() != 4 || !storages || !storages->is_array()) return "";
  const auto index = item_named(*storages, change.steps[2], known);
  return index ? pointer_to("/storage", std::to_string(*index)) : "";
}

/// Another part replaces the one that was; what else is changed is changed of the new one.
/// A price that a person writes over a machine's is none of the day that the machine says.
void forget_date(LocatedJson& machine, const Override& change) {
  if (change.steps.front() != "machine" || !machine.value.is_object() ||
      !machine.value.contains("dates") || !machine.value["dates"].is_object())
    return;
  std::string path;
  for (std::size_t i = 1; i < change.steps.size(); ++i)
    path += (path.empty() ? "" : ".") + change.steps[i];
  machine.value["dates"].erase(path);
}

void apply_to_machine(Document& document, const std::vector<Override>& changes) {
  Referenced& machine = document.machine;
  if (!machine.present) return;
  inherit_machine(machine.json, document.complaints);
  name_storages(machine.json);
  std::vector<Override> rest;
  for (const Override& change : changes) {
    if (!names_part(change)) {
      rest.push_back(change);
      continue;
    }
    forget_part(machine.json, part_pointer(machine.json, change));
    apply(machine.json, change, 1, document.complaints);
  }
  put_parts(machine.json, document.complaints);
  apply_to_referenced(document, rest, "machine", machine);
  for (const Override& change : rest) forget_date(machine.json, change);
  put_parts(machine.json, document.complaints);
}

Referenced referenced_by(Document& document, const char* key, const std::string& folder) {
  const std::string pointer = pointer_to("", key);
  const json* value = document.scenario.find(pointer);
  Referenced referenced;
  if (!value) return referenced;
  if (value->is_string())
    return read_reference(value->get<std::string>(), folder, document.scenario.place(pointer), key,
                          document.complaints);
  if (!value->is_object()) return referenced;  // the schema says what is wrong
  referenced.json = part_of(document.scenario, pointer);
  referenced.present = true;
  return referenced;
}

/// A name of the Hub that says how its weights are quantized stands for a config.json that says so.
void add_quantization(LocatedJson& config, const std::string& hub_name, const Place& place) {
  const std::string method = quantization_of(hub_name);
  if (method.empty() || !config.value.is_object()) return;
  config.put("/quantization_config", located_at({{"quant_method", method}}, place));
  config.keys["/quantization_config"] = place;
}

}  // namespace

LocatedJson part_of(const LocatedJson& document, const std::string& pointer) {
  LocatedJson part;
  part.value = *document.find(pointer);
  const auto copy = [&](const std::map<std::string, Place>& from,
                        std::map<std::string, Place>& to) {
    for (auto at = from.lower_bound(pointer); at != from.end(); ++at) {
      if (at->first.compare(0, pointer.size(), pointer) != 0) break;
      if (at->first.size() == pointer.size() || at->first[pointer.size()] == '/')
        to[at->first.substr(pointer.size())] = at->second;
    }
  };
  copy(document.values, part.values);
  copy(document.keys, part.keys);
  part.keys.erase("");
  if (!part.values.contains("")) part.values[""] = document.place(pointer);
  return part;
}

void merge_over(LocatedJson& base, const LocatedJson& top, const std::string& strategy) {
  merge_at(base, top, "", strategy + "/optimizer/paths");
}

namespace {

/// Whether the document is a whole scenario, whose machine is meant where one is asked for.
bool has_its_machine(const LocatedJson& document) {
  return document.value.is_object() && document.value.contains("machine") &&
         document.value.contains("model");
}

}  // namespace

Referenced read_reference(const std::string& text, const std::string& folder, const Place& place,
                          const std::string& path, std::vector<Complaint>& complaints) {
  Referenced referenced;
  fs::path file = directory_of(place) / text;
  std::error_code error;
  if (fs::is_directory(file, error) && is_file(file / "config.json")) file /= "config.json";
  const bool is_path = text.find('/') != std::string::npos || text.ends_with(".json");
  std::string name = is_path ? "" : text;
  const bool may_be_hub = folder == "models/library" && !is_file(file) && is_hub_name(text);
  bool is_hub = false;
  if (may_be_hub && !is_file(shipped_file(folder, text)))
    if (const std::string hub = shipped_model(text); !hub.empty()) name = hub, is_hub = true;
  std::string shown;
  if (!name.empty() && !is_file(file)) {
    file = shipped_file(folder, name);
    shown = folder + "/" + name + ".json";
  }
  if (!is_file(file)) {
    complaints.push_back(is_path ? no_file(place, path, file)
                                 : unknown_name(place, path, text, shipped_names(folder)));
    if (is_path && may_be_hub)
      complaints.back().hint =
          "no shipped model stands for that name of the Hub; write the path of its config.json";
    return referenced;
  }
  try {
    // Models come from Python programs.
    const std::string content = text_of_file(file.string(), shown);
    referenced.json =
        parse_located(folder == "models/library" ? without_python_numbers(content) : content,
                      shown.empty() ? file.string() : shown);
  } catch (const ScenarioError& failure) {
    append(complaints, failure.complaints());
    return referenced;
  }
  if (folder == "scenarios/machines" && has_its_machine(referenced.json)) {
    const json& machine = referenced.json.value["machine"];
    if (machine.is_string())
      return read_reference(machine.get<std::string>(), folder, referenced.json.place("/machine"),
                            path, complaints);
    referenced.json = part_of(referenced.json, "/machine");
  }
  if (is_hub) add_quantization(referenced.json, text, place);
  referenced.file = file.string();
  referenced.shown_by = shown.empty() ? file.string() : name;
  referenced.name = file.filename() == "config.json" ? file.parent_path().filename().string()
                                                     : file.stem().string();
  referenced.present = true;
  return referenced;
}

json standing_alone(const Document& document) {
  if (!document.complaints.empty()) throw ScenarioError(document.complaints);
  json scenario = document.scenario.value;
  const auto take_in = [&](const char* key, const Referenced& part, const char* folder) {
    const bool ships = part.file == shipped_file(folder, part.name);
    if (part.present && !part.inline_object() && !ships) scenario[key] = part.json.value;
  };
  take_in("model", document.model, "models/library");
  take_in("machine", document.machine, "scenarios/machines");
  return scenario;
}

Document assemble(LocatedJson scenario, const std::vector<std::string>& overrides) {
  Document document;
  document.scenario = ExtendsChain(document.complaints).resolve(std::move(scenario));
  std::vector<Override> changes;
  for (const std::string& text : overrides)
    if (auto change = read_override(text, document.complaints))
      changes.push_back(std::move(*change));
  if (!document.scenario.value.is_object()) return document;
  apply_to_scenario(document, changes);
  document.model = referenced_by(document, "model", "models/library");
  document.machine = referenced_by(document, "machine", "scenarios/machines");
  apply_to_referenced(document, changes, "model", document.model);
  apply_to_machine(document, changes);
  return document;
}

}  // namespace spillway::scenarios
