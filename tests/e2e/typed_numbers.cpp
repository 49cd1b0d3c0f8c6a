#include "tests/e2e/typed_numbers.hpp"

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

namespace spillway::e2e {

namespace {

using nlohmann::json;

/// Below these stands what somebody wrote, or what a choice is called.
const std::set<std::string> not_ours = {"scenario",  "machine", "settings", "set",         "source",
                                        "ds_config", "point",   "sources",  "constraints", "words",
                                        "change",    "box",     "space",    "axes",        "what",
                                        "setting",   "question"};

bool has_number(const std::string& sentence) {
  static const std::regex number(
      "[0-9] (B|[kKMGTP]i?B|%|tokens/s|ns|us|ms|s|min|h|hours|days|years)(/s)?([^A-Za-z0-9_]|$)");
  return std::regex_search(sentence, number);
}

/// The sentence without the words of its numbers.
std::string without(std::string sentence, const json& numbers) {
  for (auto one = numbers.rbegin(); one != numbers.rend(); ++one)
    sentence.replace(one->at("at").get<std::size_t>(), one->at("words").get<std::string>().size(),
                     "#");
  return sentence;
}

void check(const std::string& sentence, const json& numbers, const std::string& path,
           std::string& found) {
  if (has_number(without(sentence, numbers))) found += path + ": " + sentence + "\n";
}

void walk(const json& value, const std::string& path, std::string& found) {
  if (value.is_array())
    for (const json& one : value) walk(one, path, found);
  if (!value.is_object()) return;
  for (const auto& [name, child] : value.items()) {
    const std::string beside = name + "_numbers", here = path + "/" + name;
    if (not_ours.contains(name) || name.ends_with("_numbers")) continue;
    const json numbers = value.value(beside, json::array());
    if (child.is_string()) check(child, numbers, here, found);
    for (std::size_t i = 0; child.is_array() && i < child.size(); ++i)
      if (child[i].is_string())
        check(child[i], i < numbers.size() ? numbers[i] : json::array(), here, found);
    walk(child, here, found);
  }
}

}  // namespace

std::string untyped_numbers(const json& answer) {
  std::string found;
  walk(answer, "", found);
  return found;
}

}  // namespace spillway::e2e
