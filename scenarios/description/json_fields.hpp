#pragma once

#include "scenarios/description/activations_part.hpp"
#include "scenarios/description/knob.hpp"
#include "scenarios/description/names.hpp"
#include "scenarios/description/quantity.hpp"

#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace spillway::description {

/// One value, in the form people write, to and from JSON.
template <class T>
struct Written {
  static nlohmann::json write(const T& value) {
    if constexpr (std::is_enum_v<T>)
      return std::string(name_of(value));
    else
      return value;
  }
  static T read(const nlohmann::json& json) {
    if constexpr (std::is_enum_v<T>) {
      const auto found = value_named<T>(json.get<std::string>());
      if (!found)
        throw std::invalid_argument("\"" + json.get<std::string>() + "\" is no value here");
      return *found;
    } else {
      return json.get<T>();
    }
  }
};
template <class Tag, class Rep>
struct Written<Quantity<Tag, Rep>> {
  static nlohmann::json write(Quantity<Tag, Rep> value) { return to_text(value); }
  static Quantity<Tag, Rep> read(const nlohmann::json& json) {
    return quantity_from<Quantity<Tag, Rep>>(json.get<std::string>());
  }
};
template <class T, Word word>
struct Written<Or<T, word>> {
  static nlohmann::json write(const Or<T, word>& value) {
    return value.value ? Written<T>::write(*value.value) : nlohmann::json(Or<T, word>::name);
  }
  static Or<T, word> read(const nlohmann::json& json) {
    if (json == Or<T, word>::name) return {};
    return Written<T>::read(json);
  }
};
template <class T>
requires std::is_enum_v<T>
struct Written<std::vector<T>> {
  static nlohmann::json write(const std::vector<T>& values) {
    nlohmann::json list = nlohmann::json::array();
    for (const T value : values) list.push_back(Written<T>::write(value));
    return list;
  }
  static std::vector<T> read(const nlohmann::json& json) {
    std::vector<T> values;
    for (const nlohmann::json& one : json) values.push_back(Written<T>::read(one));
    return values;
  }
};
/// A plain text is a list of one; nothing is written as 0.
template <class Tag, class Rep>
struct Written<std::vector<Quantity<Tag, Rep>>> {
  static nlohmann::json write(const std::vector<Quantity<Tag, Rep>>& values) {
    if (values.empty()) return to_text(Quantity<Tag, Rep>{});
    nlohmann::json list = nlohmann::json::array();
    for (const Quantity<Tag, Rep> value : values) list.push_back(to_text(value));
    return list;
  }
  static std::vector<Quantity<Tag, Rep>> read(const nlohmann::json& json) {
    std::vector<Quantity<Tag, Rep>> values;
    for (const nlohmann::json& one : json.is_array() ? json : nlohmann::json::array({json}))
      values.push_back(Written<Quantity<Tag, Rep>>::read(one));
    return values;
  }
};
template <>
struct Written<PrefetchDistance> {
  static nlohmann::json write(const PrefetchDistance& value) {
    if (value.unit == PrefetchDistance::Unit::operators) return value.operators;
    return value.unit == PrefetchDistance::Unit::module ? "module" : "layer";
  }
  static PrefetchDistance read(const nlohmann::json& json) {
    using Unit = PrefetchDistance::Unit;
    if (json.is_number()) return {Unit::operators, json.get<std::uint64_t>()};
    return {json == "module" ? Unit::module : Unit::layer, 0};
  }
};
template <class T>
nlohmann::json to_written(const T& value) {
  return Written<T>::write(value);
}

/// Writes fields into an object. FieldReader is its mirror: one list of fields serves both
/// directions.
class FieldWriter {
 public:
  explicit FieldWriter(nlohmann::json& object) : object_(object) {}

  template <class T>
  void operator()(const char* key, const T& value) {
    object_[key] = to_written(value);
  }
  /// An empty optional is written as "auto".
  template <class T>
  void automatic(const char* key, const std::optional<T>& value) {
    object_[key] = value ? to_written(*value) : nlohmann::json("auto");
  }
  /// An empty optional is left out.
  template <class T>
  void optional(const char* key, const std::optional<T>& value) {
    if (value) object_[key] = to_written(*value);
  }
  template <class T>
  void map(const char* key, const std::map<std::string, T>& values) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [name, value] : values) object[name] = to_written(value);
    if (!values.empty()) object_[key] = std::move(object);
  }

  // ---- lists of knobs; their limits are the schema's
  template <class T>
  void operator()(const Knob& knob, const T& value, const Range& = any_number) {
    (*this)(knob.name, value);
  }
  template <class T>
  void automatic(const Knob& knob, const std::optional<T>& value, const Range& = any_number) {
    automatic(knob.name, value);
  }
  template <class T>
  void optional(const Knob& knob, const std::optional<T>& value, const Range& = any_number) {
    optional(knob.name, value);
  }
  template <class T>
  void map(const Knob& knob, const std::map<std::string, T>& values, const Range&) {
    map(knob.name, values);
  }
  /// `named` is written as `word`.
  template <class T>
  void word(const Knob& knob, const T& value, const char* word, const T& named,
            const Range& = any_number) {
    object_[knob.name] = value == named ? nlohmann::json(word) : to_written(value);
  }
  /// Both words: "auto" of an empty optional, and `word` of `named`.
  template <class T>
  void automatic_or(const Knob& knob, const std::optional<T>& value, const char* word,
                    const T& named) {
    if (value == named)
      object_[knob.name] = word;
    else
      automatic(knob.name, value);
  }
  /// `other` is a second name of `value`.
  template <class T>
  void alias(const Knob& knob, const T& value, const char*, const T&) {
    (*this)(knob.name, value);
  }
  void texts(const Knob& knob, const std::vector<std::string>& list,
             std::initializer_list<const char*>) {
    object_[knob.name] = list;
  }
  void automatic_map(const Knob& knob, const std::map<std::string, std::optional<double>>& values) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [name, value] : values)
      object[name] = value ? nlohmann::json(*value) : nlohmann::json("auto");
    object_[knob.name] = std::move(object);
  }

 private:
  nlohmann::json& object_;
};

/// Reads fields of an object; a key that is absent leaves its value as it is.
class FieldReader {
 public:
  explicit FieldReader(const nlohmann::json& object) : object_(object) {}

  template <class T>
  void operator()(const char* key, T& value) {
    if (const nlohmann::json* json = find(key)) value = Written<T>::read(*json);
  }
  template <class T>
  void automatic(const char* key, std::optional<T>& value) {
    const nlohmann::json* json = find(key);
    if (json && *json == "auto")
      value.reset();
    else if (json)
      value = Written<T>::read(*json);
  }
  template <class T>
  void optional(const char* key, std::optional<T>& value) {
    if (const nlohmann::json* json = find(key)) value = Written<T>::read(*json);
  }
  template <class T>
  void map(const char* key, std::map<std::string, T>& values) {
    const nlohmann::json* json = find(key);
    if (!json) return;
    values.clear();
    for (const auto& [name, value] : json->items()) values[name] = Written<T>::read(value);
  }

  // ---- lists of knobs, as FieldWriter's
  template <class T>
  void operator()(const Knob& knob, T& value, const Range& = any_number) {
    (*this)(knob.name, value);
  }
  template <class T>
  void automatic(const Knob& knob, std::optional<T>& value, const Range& = any_number) {
    automatic(knob.name, value);
  }
  template <class T>
  void optional(const Knob& knob, std::optional<T>& value, const Range& = any_number) {
    optional(knob.name, value);
  }
  template <class T>
  void map(const Knob& knob, std::map<std::string, T>& values, const Range&) {
    map(knob.name, values);
  }
  template <class T>
  void word(const Knob& knob, T& value, const char* word, const T& named,
            const Range& = any_number) {
    if (const nlohmann::json* json = find(knob.name))
      value = *json == word ? named : Written<T>::read(*json);
  }
  template <class T>
  void automatic_or(const Knob& knob, std::optional<T>& value, const char* word, const T& named) {
    if (const nlohmann::json* json = find(knob.name); json && *json == word)
      value = named;
    else
      automatic(knob.name, value);
  }
  template <class T>
  void alias(const Knob& knob, T& value, const char* other, const T& meant) {
    if (const nlohmann::json* json = find(knob.name))
      value = *json == other ? meant : Written<T>::read(*json);
  }
  void texts(const Knob& knob, std::vector<std::string>& list, std::initializer_list<const char*>) {
    (*this)(knob.name, list);
  }
  void automatic_map(const Knob& knob, std::map<std::string, std::optional<double>>& values) {
    const nlohmann::json* json = find(knob.name);
    if (!json) return;
    values.clear();
    for (const auto& [name, value] : json->items())
      values[name] = value == "auto" ? std::nullopt : std::optional<double>(value.get<double>());
  }

  const nlohmann::json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }

 private:
  const nlohmann::json& object_;
};

}  // namespace spillway::description
