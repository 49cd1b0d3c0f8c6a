#include "scenarios/json/schema_check.hpp"

#include "scenarios/description/quantity.hpp"
#include "scenarios/description/text.hpp"
#include "scenarios/json/shipped.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace spillway::scenarios {

using description::Complaint;
using nlohmann::json;

namespace {

/// One schema as JSON, for messages, and as valijson's constraints, for the verdict.
struct LoadedSchema {
  json text;
  valijson::Schema constraints;
};

/// Puts the files that "$ref" names in its place.
void fill_references(json& node) {
  if (node.is_object() && node.contains("$ref")) {
    const std::string name = node["$ref"].get<std::string>();
    node = schema(name.substr(0, name.find('.')));
    return;
  }
  if (node.is_structured())
    for (json& child : node) fill_references(child);
}

/// Quantities and words are checked here (check_strings); valijson's own check of a format throws
/// on what is no text.
void drop_formats(json& node) {
  if (node.is_object() && node.contains("format") && node["format"].is_string())
    node.erase("format");
  if (node.is_structured())
    for (json& child : node) drop_formats(child);
}

const LoadedSchema& loaded(const std::string& name) {
  static std::map<std::string, std::unique_ptr<LoadedSchema>> schemas;
  if (const auto found = schemas.find(name); found != schemas.end()) return *found->second;
  auto fresh = std::make_unique<LoadedSchema>();
  fresh->text = read_located(shipped_file("scenarios/schemas", name)).value;
  fill_references(fresh->text);
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  json without_formats = fresh->text;
  drop_formats(without_formats);
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(without_formats),
                        fresh->constraints);
  return *(schemas[name] = std::move(fresh));
}

/// Of a schema with alternatives (anyOf) that which is for objects, if `value` is one; else null.
const json* alternative(const json* node, const json& value) {
  if (!node || !value.is_object() || !node->contains("anyOf")) return nullptr;
  for (const json& one : (*node)["anyOf"])
    if (one.value("type", json()) == "object") return &one;
  return nullptr;
}

/// The schema of a child of `value`, nullptr when the schema knows none.
const json* child_schema(const json* node, const json& value, const std::string& key) {
  if (!node) return nullptr;
  if (const json* chosen = alternative(node, value)) node = chosen;
  if (value.is_array()) return node->contains("items") ? &(*node)["items"] : nullptr;
  if (const auto properties = node->find("properties");
      properties != node->end() && properties->contains(key))
    return &(*properties)[key];
  const auto rest = node->find("additionalProperties");
  return rest != node->end() && rest->is_object() ? &*rest : nullptr;
}

std::vector<std::string> strings(const json& list) {
  std::vector<std::string> words;
  for (const json& word : list)
    if (word.is_string()) words.push_back(word.get<std::string>());
  return words;
}

std::string shown(const json& value) {
  return description::shortened(description::json_text(value));
}

std::vector<std::string> words_of(const json& node) {
  return node.contains("x-words") ? strings(node["x-words"]) : std::vector<std::string>{};
}

std::string or_words(const json& node) {
  std::string text;
  for (const std::string& word : words_of(node)) text += " or \"" + word + "\"";
  return text;
}

const std::map<std::string, std::string> type_words = {{"object", "an object {...}"},
                                                       {"array", "a list [...]"},
                                                       {"string", "a text in quotes"},
                                                       {"integer", "a whole number"},
                                                       {"number", "a number"},
                                                       {"boolean", "true or false"},
                                                       {"null", "null"}};

std::string expected_types(const json& node) {
  const json types = node["type"].is_array() ? node["type"] : json::array({node["type"]});
  const bool has_words = node.contains("x-words");
  std::string text;
  for (const std::string& type : strings(types))
    if (!(has_words && type == "string"))
      text += (text.empty() ? "" : " or ") + type_words.at(type);
  return text + or_words(node);
}

/// What is wrong with a string that should be a quantity or a word; nothing when it is fine.
std::optional<std::pair<std::string, std::string>> string_problem(const json& node,
                                                                  const std::string& text) {
  const std::vector<std::string> words = words_of(node);
  if (std::find(words.begin(), words.end(), text) != words.end()) return std::nullopt;
  if (const auto dimension = description::dimension_of_format(node.value("format", ""))) {
    const auto parsed = description::parse_quantity(*dimension, text);
    if (parsed.problem.empty()) return std::nullopt;
    return std::pair{parsed.problem, parsed.hint + or_words(node)};
  }
  if (words.empty()) return std::nullopt;
  return std::pair{"no " + shown(text), "write " + expected_types(node)};
}

/// Turns what valijson refuses into complaints, in the words of the schema.
class Translator {
 public:
  Translator(const LocatedJson& document, const json& root, const std::string& prefix)
      : document_(document), root_(root), prefix_(prefix) {}

  void refused(const valijson::ValidationResults::Error& error) {
    std::string pointer;
    const json* value = &document_.value;
    const json* node = &root_;
    for (std::size_t i = 1; i < error.context.size(); ++i) {
      const std::string key = error.context[i].substr(1, error.context[i].size() - 2);
      node = child_schema(node, *value, key);
      value = value->is_array() ? &value->at(std::stoul(key)) : &value->at(key);
      pointer = pointer_to(pointer, key);
    }
    const std::string& what = error.description;
    if (what.starts_with("Failed to validate")) return;  // of a parent; the child has its own
    const json* const chosen = alternative(node, *value);
    if (what.starts_with("Object contains a property"))
      unknown_keys(pointer, *value, chosen ? *chosen : *node);
    else if (what.starts_with("Missing required property"))
      missing_keys(pointer, *value, chosen ? *chosen : *node);
    else if (node && !chosen)  // what other alternatives say of an object is beside the point
      wrong_value(pointer, *value, *node);
  }

  /// Checks what draft-07 leaves to the application: quantities and words.
  void check_strings(const std::string& pointer, const json& value, const json& node) {
    if (value.is_string() && !node.contains("enum")) {
      if (const auto problem = string_problem(node, value.get<std::string>()))
        add(document_.place(pointer), pointer, problem->first, problem->second);
    } else if (value.is_object()) {
      for (const auto& [key, child] : value.items())
        if (const json* below = child_schema(&node, value, key))
          check_strings(pointer_to(pointer, key), child, *below);
    } else if (value.is_array() && node.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i)
        check_strings(pointer_to(pointer, std::to_string(i)), value[i], node["items"]);
    }
  }

  std::vector<Complaint> finish() {
    tidy(complaints_);
    return std::move(complaints_);
  }

 private:
  void add(const Place& place, const std::string& pointer, const std::string& message,
           const std::string& hint) {
    if (!seen_.insert(pointer).second) return;
    complaints_.push_back(
        {place.file, place.line, place.column, prefix_ + dotted(pointer), message, hint});
  }

  void unknown_keys(const std::string& pointer, const json& value, const json& node) {
    std::vector<std::string> known;
    for (const auto& [key, property] : node["properties"].items())
      if (!property.contains("x-retired")) known.push_back(key);
    for (const auto& [key, unused] : value.items()) {
      if (child_schema(&node, value, key)) continue;
      std::string near = description::nearest_name(key, known);
      for (const std::string& part : known)  // a path that begins in the middle
        if (const json* inside = child_schema(&node, value, part);
            inside->contains("properties") && (*inside)["properties"].contains(key))
          near = part + "." + key;
      const std::string hint = near.empty() ? fmt::format("known: {}", fmt::join(known, ", "))
                                            : "did you mean \"" + near + "\"?";
      const std::string at = pointer_to(pointer, key);
      add(document_.key_place(at), at, "no such key", hint);
    }
  }

  void missing_keys(const std::string& pointer, const json& value, const json& node) {
    for (const std::string& key : strings(node["required"])) {
      if (value.contains(key)) continue;
      const json* wanted = child_schema(&node, value, key);
      const auto dimension = description::dimension_of_format(wanted->value("format", ""));
      std::string hint = "write " + expected_types(*wanted);
      if (dimension) hint = description::parse_quantity(*dimension, "").hint;
      if (wanted->contains("enum"))
        hint = fmt::format("write one of {}", fmt::join(strings((*wanted)["enum"]), ", "));
      add(document_.place(pointer), pointer_to(pointer, key), "missing", hint);
    }
  }

  void wrong_value(const std::string& pointer, const json& value, const json& node) {
    const Place place = document_.place(pointer);
    if (node.contains("x-retired"))
      return add(place, pointer, "no longer a setting: " + node["x-retired"].get<std::string>(),
                 "leave it out");
    const auto dimension = description::dimension_of_format(node.value("format", ""));
    const json types = node["type"].is_array() ? node["type"] : json::array();
    const bool number_allowed = std::find(types.begin(), types.end(), "number") != types.end();
    if (node.contains("enum") && value.is_string()) {
      if (!seen_.insert(pointer).second) return;
      complaints_.push_back(unknown_name(place, prefix_ + dotted(pointer), value.get<std::string>(),
                                         strings(node["enum"])));
    } else if (dimension && value.is_number() && !number_allowed) {
      const auto problem = description::missing_unit(*dimension, shown(value));
      add(place, pointer, problem.problem, problem.hint + or_words(node));
    } else if (value.is_number() && below(value, node, "minimum")) {
      add(place, pointer, shown(value) + " is below " + shown(node["minimum"]), "");
    } else if (value.is_number() && below(node, value, "maximum")) {
      add(place, pointer, shown(value) + " is above " + shown(node["maximum"]), "");
    } else if (value.is_array() && node.value("type", json()) == "array") {
      add(place, pointer, value.empty() ? "the list is empty" : "an entry stands twice", "");
    } else if (node.value("minLength", 0) > 0 && value == "") {
      add(place, pointer, "the text is empty", "");
    } else {
      add(place, pointer, shown(value) + " is not " + expected_types(node), "");
    }
  }

  static bool below(const json& value, const json& node, const char* minimum) {
    return node.is_object() && node.contains(minimum)
               ? value.get<double>() < node[minimum].get<double>()
               : value.is_object() && value.contains(minimum) &&
                     value[minimum].get<double>() < node.get<double>();
  }

  const LocatedJson& document_;
  const json& root_;
  const std::string& prefix_;
  std::set<std::string> seen_;
  std::vector<Complaint> complaints_;
};

}  // namespace

const json& schema(const std::string& name) { return loaded(name).text; }

Complaint unknown_name(const Place& place, const std::string& path, const std::string& name,
                       const std::vector<std::string>& known) {
  return {place.file,
          place.line,
          place.column,
          path,
          description::no_such_name(name),
          description::known_names(name, known)};
}

void tidy(std::vector<Complaint>& complaints) {
  const auto order = [](const Complaint& c) {
    return std::tie(c.file, c.line, c.column, c.path, c.message);
  };
  std::stable_sort(complaints.begin(), complaints.end(),
                   [&](const Complaint& a, const Complaint& b) { return order(a) < order(b); });
  complaints.erase(
      std::unique(complaints.begin(), complaints.end(),
                  [&](const Complaint& a, const Complaint& b) { return order(a) == order(b); }),
      complaints.end());
}

std::vector<Complaint> check_schema(const LocatedJson& document, const std::string& schema_name,
                                    const std::string& prefix) {
  const LoadedSchema& wanted = loaded(schema_name);
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter target(document.value);
  const bool valid = validator.validate(wanted.constraints, target, &results);
  Translator translator(document, wanted.text, prefix);
  for (const valijson::ValidationResults::Error& error : results) translator.refused(error);
  translator.check_strings("", document.value, wanted.text);
  std::vector<Complaint> complaints = translator.finish();
  ENSURE(valid || !complaints.empty(), "a refusal of the schema got no complaint");
  return complaints;
}

}  // namespace spillway::scenarios
