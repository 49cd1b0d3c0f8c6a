#include "answers/calibrate/drive_names.hpp"

#include "scenarios/document/part_catalogue.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace spillway::answers {

namespace {

/// Letters and digits alone, in small letters.
std::string plain(const std::string& text) {
  std::string all;
  for (const char letter : text)
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0)
      all += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return all;
}

/// The words of a name that have a digit, but for its size: "990" of "990 PRO 2TB".
std::vector<std::string> numbers_of(const std::string& name) {
  std::vector<std::string> numbers;
  std::string word;
  for (const char letter : name + " ") {
    if (letter != ' ' && letter != '-') {
      word += letter;
      continue;
    }
    const bool has_digit = std::any_of(word.begin(), word.end(),
                                       [](unsigned char one) { return std::isdigit(one) != 0; });
    const std::string number = plain(word);
    word.clear();
    if (has_digit && !number.ends_with("tb") && !number.ends_with("gb") && number.size() > 2)
      numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

bool names_drive(const std::string& model, const std::string& part) {
  std::vector<std::string> names = {part};
  for (const scenarios::DrivePart& drive : scenarios::part_catalogue().drives)
    if (drive.name == part) names.insert(names.end(), drive.aliases.begin(), drive.aliases.end());
  const std::string said = plain(model);
  for (const std::string& name : names) {
    const std::vector<std::string> numbers = numbers_of(name);
    if (std::any_of(numbers.begin(), numbers.end(), [&](const std::string& number) {
          return said.find(number) != std::string::npos;
        }))
      return true;
  }
  return false;
}

}  // namespace spillway::answers
