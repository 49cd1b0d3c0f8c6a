#include "answers/calibrate/card_names.hpp"

#include <cctype>
#include <regex>
#include <set>

namespace spillway::answers {

namespace {

/// What tells a model from others: its number, "4090", "A100", and words that another model with
/// that number lacks. Not its memory, "80GB", nor kinds of memory and sockets, "HBM3", "SXM4".
std::set<std::string> model_of(const std::string& name) {
  static const std::set<std::string> words = {"ti",  "super", "ada", "pro",
                                              "nvl", "pcie",  "d",   "laptop"};
  static const std::regex number("[a-z]{0,2}[0-9]{2,4}[a-z]?");
  std::set<std::string> model;
  std::string word;
  bool numbered = false;
  for (const char letter : name + " ") {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      continue;
    }
    const bool is_number = std::regex_match(word, number) && !word.ends_with("g");
    if (is_number || words.count(word) > 0) model.insert(word);
    numbered = numbered || is_number;
    word.clear();
  }
  return numbered ? model : std::set<std::string>();
}

}  // namespace

bool is_same_card(const std::string& one, const std::string& other) {
  const std::set<std::string> first = model_of(one), second = model_of(other);
  return first.empty() || second.empty() || first == second;
}

bool names_card(const std::string& name) { return !model_of(name).empty(); }

}  // namespace spillway::answers
