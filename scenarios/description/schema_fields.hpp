#pragma once

#include "scenarios/description/json_fields.hpp"

namespace spillway::description {

/// What a schema says of values of a type: draft-07, and of ours `format`, which names a quantity,
/// and `x-words`, words that may stand for a value.
template <class T>
struct Schema {
  static nlohmann::json of() {
    if constexpr (std::is_enum_v<T>)
      return {{"type", "string"}, {"enum", names_of<T>}};
    else if constexpr (std::is_same_v<T, bool>)
      return {{"type", "boolean"}};
    else if constexpr (std::is_integral_v<T>)
      return {{"type", "integer"}};
    else if constexpr (std::is_floating_point_v<T>)
      return {{"type", "number"}};
    else
      return {{"type", "string"}};
  }
};
template <class Tag, class Rep>
struct Schema<Quantity<Tag, Rep>> {
  static nlohmann::json of() {
    return {{"type", "string"}, {"format", format_of(dimension_of<Quantity<Tag, Rep>>)}};
  }
};
template <class T>
requires std::is_enum_v<T>
struct Schema<std::vector<T>> {
  static nlohmann::json of() {
    return {{"type", "array"}, {"items", Schema<T>::of()}, {"uniqueItems", true}};
  }
};

/// Adds a word that may stand for a value: to the words of an enum, else beside the value.
inline void add_word(nlohmann::json& node, std::string_view word) {
  if (node.contains("enum")) return node["enum"].push_back(word);
  if (node["type"] != "string" && !node["type"].is_array())
    node["type"] = nlohmann::json::array({node["type"], "string"});
  node["x-words"].push_back(word);
}

template <class T, Word word>
struct Schema<Or<T, word>> {
  static nlohmann::json of() {
    nlohmann::json node = Schema<T>::of();
    add_word(node, word.view());
    return node;
  }
};
template <>
struct Schema<PrefetchDistance> {
  static nlohmann::json of() {
    return {{"type", {"integer", "string"}}, {"x-words", {"module", "layer"}}};
  }
};

/// Makes the properties of a part's schema from its list of knobs. The third reader of such a list,
/// beside FieldReader and FieldWriter.
class SchemaFields {
 public:
  explicit SchemaFields(nlohmann::json& properties) : properties_(properties) {}

  template <class T>
  void operator()(const Knob& knob, const T&, const Range& range = any_number) {
    add(knob, Schema<T>::of(), range);
  }
  template <class T>
  void automatic(const Knob& knob, const std::optional<T>&, const Range& range = any_number) {
    add(knob, with_word(Schema<T>::of(), "auto"), range);
  }
  template <class T>
  void optional(const Knob& knob, const std::optional<T>&, const Range& range = any_number) {
    add(knob, Schema<T>::of(), range);
  }
  template <class T>
  void map(const Knob& knob, const std::map<std::string, T>&, const Range& range) {
    nlohmann::json each = Schema<T>::of();
    bound(each, range);
    add(knob, object_of(std::move(each)), any_number);
  }
  template <class T>
  void word(const Knob& knob, const T&, const char* word, const T&,
            const Range& range = any_number) {
    add(knob, with_word(Schema<T>::of(), word), range);
  }
  template <class T>
  void automatic_or(const Knob& knob, const std::optional<T>&, const char* word, const T&) {
    add(knob, with_word(with_word(Schema<T>::of(), "auto"), word), any_number);
  }
  template <class T>
  void alias(const Knob& knob, const T&, const char* other, const T&) {
    add(knob, with_word(Schema<T>::of(), other), any_number);
  }
  void texts(const Knob& knob, const std::vector<std::string>&,
             std::initializer_list<const char*> words) {
    nlohmann::json items = {{"type", "string"}};
    for (const char* word : words) items["enum"].push_back(word);
    add(knob, {{"type", "array"}, {"items", items}, {"uniqueItems", true}}, any_number);
  }
  void automatic_map(const Knob& knob, const std::map<std::string, std::optional<double>>&) {
    nlohmann::json each = with_word({{"type", "number"}}, "auto");
    bound(each, {0, 1e9});
    add(knob, object_of(std::move(each)), any_number);
  }

 private:
  static nlohmann::json with_word(nlohmann::json node, const char* word) {
    add_word(node, word);
    return node;
  }
  static nlohmann::json object_of(nlohmann::json each) {
    return {{"type", "object"},
            {"properties", nlohmann::json::object()},
            {"additionalProperties", std::move(each)}};
  }
  static void bound(nlohmann::json& node, const Range& range) {
    if (!range.bounds()) return;
    for (const auto& [key, end] : {std::pair{"minimum", range.least}, {"maximum", range.most}}) {
      const auto whole = static_cast<std::int64_t>(end);
      node[key] = static_cast<double>(whole) == end ? nlohmann::json(whole) : nlohmann::json(end);
    }
  }
  void add(const Knob& knob, nlohmann::json node, const Range& range) {
    bound(node, range);
    node["description"] = knob.words;
    if (*knob.deepspeed) node["x-deepspeed"] = knob.deepspeed;
    if (*knob.systems) node["x-systems"] = knob.systems;
    properties_[knob.name] = std::move(node);
  }

  nlohmann::json& properties_;
};

}  // namespace spillway::description
