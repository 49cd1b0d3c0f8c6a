#pragma once

#include "scenarios/description/names.hpp"
#include "scenarios/description/quantity.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace spillway::description {

/// One value, in the form people write, to and from JSON.
template <class T>
nlohmann::json to_written(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(name_of(value));
  else
    return value;
}
template <class Tag, class Rep>
nlohmann::json to_written(Quantity<Tag, Rep> value) {
  return to_text(value);
}

template <class T>
struct Written {
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
  static Quantity<Tag, Rep> read(const nlohmann::json& json) {
    return quantity_from<Quantity<Tag, Rep>>(json.get<std::string>());
  }
};

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

  const nlohmann::json* find(const char* key) {
    known_.insert(key);
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  /// Keys of the object that nobody asked for.
  std::vector<std::string> unread() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : object_.items())
      if (!known_.contains(key)) keys.push_back(key);
    return keys;
  }

 private:
  const nlohmann::json& object_;
  std::set<std::string> known_;
};

}  // namespace spillway::description
