#pragma once

#include "reports/text/text_json.hpp"
#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace spillway::result {

/// Refuses JSON that is of another kind, or that a later version wrote.
///   name     of the schema "spillway/<name>/<version>": "answer/simulate"
///   Throws   ScenarioError: "this is answer simulate version 2; this program reads 1"
void require_schema(const nlohmann::json& in, std::string_view name, int version = 1);

/// The same complaints, about members of the value at `key`.
[[noreturn]] void complain_below(const std::string& key, const description::ScenarioError& error);
/// A value at `key` that is of another type than this program reads.
[[noreturn]] void complain_of_type(const std::string& key, const nlohmann::json& value);

/// Whether a number of JSON is one of `T`: 1.5, -1 and 1e30 are no bytes, and the library's own
/// conversion of such a number is undefined. What is no number is for the library to refuse.
template <class T>
struct Holds {
  static bool all(const nlohmann::json& value) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (value.is_number_unsigned()) return std::in_range<T>(value.get<std::uint64_t>());
      if (value.is_number_integer()) return std::in_range<T>(value.get<std::int64_t>());
      if (!value.is_number_float()) return true;
      const double number = value.get<double>();
      constexpr double exact = 9007199254740992.0;  // 2^53: larger doubles skip whole numbers
      return number == std::trunc(number) && number <= exact &&
             number >= (std::is_signed_v<T> ? -exact : 0.0);
    }
    return true;
  }
};
template <class T>
struct Holds<std::vector<T>> {
  static bool all(const nlohmann::json& value) {
    return !value.is_array() || std::all_of(value.begin(), value.end(), Holds<T>::all);
  }
};
template <class T>
struct Holds<std::map<std::string, T>> {
  static bool all(const nlohmann::json& value) {
    return !value.is_object() || std::all_of(value.begin(), value.end(), Holds<T>::all);
  }
};

/// Reads one member. One that is missing or null keeps what `member` holds: that is how a file of
/// an older release is read.
///   Throws  ScenarioError with the path of a value of the wrong type
template <class T>
void read(const nlohmann::json& in, const std::string& key, T& member) {
  const auto found = in.is_object() ? in.find(key) : in.end();
  if (found == in.end() || found->is_null()) return;
  if (!Holds<T>::all(*found)) complain_of_type(key, *found);
  try {
    found->get_to(member);
  } catch (const description::ScenarioError& error) {
    complain_below(key, error);
  } catch (const nlohmann::json::exception&) {
    complain_of_type(key, *found);
  }
}

/// The same of a member that may have no value: null and a missing one leave it empty.
template <class T>
void read(const nlohmann::json& in, const std::string& key, std::optional<T>& member) {
  member.reset();
  T value{};
  const auto found = in.is_object() ? in.find(key) : in.end();
  if (found == in.end() || found->is_null()) return;
  read(in, key, value);
  member = std::move(value);
}

/// The same of a text, with the numbers in it, and of a list of them; text_json.hpp says how they
/// stand in JSON.
void read(const nlohmann::json& in, const std::string& key, text::Text& member);
void read(const nlohmann::json& in, const std::string& key, std::vector<text::Text>& member);

/// Reads members of the object at `key`, by `read_members(object)`; none where it is missing.
template <class F>
void read_part(const nlohmann::json& in, const std::string& key, F read_members) {
  const auto found = in.is_object() ? in.find(key) : in.end();
  if (found == in.end() || found->is_null()) return;
  if (!found->is_object()) complain_of_type(key, *found);
  try {
    read_members(*found);
  } catch (const description::ScenarioError& error) {
    complain_below(key, error);
  }
}

/// Writes and reads each member of a struct under its own name; a missing one keeps its default.
#define SPILLWAY_MEMBER_FROM(member) ::spillway::result::read(in, #member, of.member);
#define SPILLWAY_MEMBER_TO(member) out[#member] = of.member;
#define SPILLWAY_MEMBERS(Type, ...)                                              \
  void to_json(nlohmann::json& out, const Type& of) {                            \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(SPILLWAY_MEMBER_TO, __VA_ARGS__))   \
  }                                                                              \
  void from_json(const nlohmann::json& in, Type& of) {                           \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(SPILLWAY_MEMBER_FROM, __VA_ARGS__)) \
  }

/// The value, or null where there is none.
template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

}  // namespace spillway::result
