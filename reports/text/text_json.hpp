#pragma once

#include "reports/text/text.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace spillway::text {

/// Writes a text as a string at `key`, as people read it; where there are numbers in it, beside
/// that a list of them at "<key>_numbers", in their order: {"at": offset of its words in the string
/// in bytes, "words", "value", "quantity", "unit", "origin"}. A number that is not finite is words.
void put(nlohmann::json& object, const std::string& key, const Text& text);
/// The same of an array of strings, with an array of such lists beside it: one for each string, and
/// nothing where no string has a number.
void put(nlohmann::json& object, const std::string& key, const std::vector<Text>& texts);

/// Reads what put() writes. A string alone is words, as is one whose numbers do not stand where
/// they say, or would be said otherwise by this program: what people read is always the string.
///   object  has a string at `key`
Text take(const nlohmann::json& object, const std::string& key);
/// The same of an array of strings.
std::vector<Text> take_all(const nlohmann::json& object, const std::string& key);

}  // namespace spillway::text
