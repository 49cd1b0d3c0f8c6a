#pragma once

#include "reports/text/text_json.hpp"
#include "scenarios/description/errors.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
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

/// Reads one member. One that is missing or null keeps what `member` holds: that is how a file of
/// an older release is read.
///   Throws  ScenarioError with the path of a value of the wrong type
template <class T>
void read(const nlohmann::json& in, const std::string& key, T& member) {
  const auto found = in.is_object() ? in.find(key) : in.end();
  if (found == in.end() || found->is_null()) return;
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

/// The value, or null where there is none.
template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

}  // namespace spillway::result
