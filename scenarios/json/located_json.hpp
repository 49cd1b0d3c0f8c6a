#pragma once

#include "scenarios/description/errors.hpp"
#include "scenarios/json/input_file.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace spillway::scenarios {

/// Where something stands that a person wrote.
struct Place {
  std::string file;  ///< or the option, "--set a.b=1"; "" when unknown
  int line = 0;      ///< 1-based; 0: the whole of `file`
  int column = 0;    ///< 1-based, in bytes
};

/// JSON with the place of every value and key, by JSON pointer ("/storage/0/read").
struct LocatedJson {
  nlohmann::json value;
  std::map<std::string, Place> values;
  std::map<std::string, Place> keys;

  /// Of the value, or of the nearest value around it that has a place.
  Place place(const std::string& pointer) const;
  /// Of the key, or of the object around it.
  Place key_place(const std::string& pointer) const;
  /// The value at `pointer`; nullptr when there is none.
  const nlohmann::json* find(const std::string& pointer) const;

  /// Puts `other` at `pointer`, whose parents are made where they miss, places included.
  void put(const std::string& pointer, const LocatedJson& other);
  /// Forgets the places at and below `pointer`.
  void forget(const std::string& pointer);
};

/// `complaint` with file, line and column of its path in `written`, or of what lies around it.
description::Complaint placed_in(const LocatedJson& written, description::Complaint complaint);

/// `value` with `place` as the place of everything in it.
LocatedJson located_at(const nlohmann::json& value, const Place& place);

/// Reads JSON text in which `//` and `/* */` comments may stand.
///   Throws  ScenarioError: the syntax error with its line and column, or every key that an object
///           has twice; nesting beyond 64 levels, more than a million keys and values and, with all
///           keys above each of them, more than 256 MiB of keys are refused
LocatedJson parse_located(std::string_view text, const std::string& file);

/// parse_located of a file's content, whose places say `shown` when that is not empty.
///   Throws  ScenarioError also when the file cannot be read
LocatedJson read_located(const std::string& path, const std::string& shown = "");

/// "/storage/1" + "read" -> "/storage/1/read", escaped as JSON pointers are.
std::string pointer_to(const std::string& parent, std::string_view key);
/// The parent of a pointer, "" for the top.
std::string parent_of(const std::string& pointer);
/// "/storage/1/read" -> "storage[1].read".
std::string dotted(const std::string& pointer);
/// The value at a dotted path, items of a list by their `name`; nullptr where there is none.
const nlohmann::json* value_at(const nlohmann::json& document, std::string_view path);
nlohmann::json* value_at(nlohmann::json& document, std::string_view path);
/// "strategy.optimizer.host_fill" -> "/strategy/optimizer/host_fill"; no list items.
std::string pointer_of(std::string path);

}  // namespace spillway::scenarios
