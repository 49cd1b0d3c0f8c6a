#include "tests/house/coroutines.hpp"

#include <algorithm>
#include <regex>
#include <string>

#include "tests/house/cpp_text.hpp"

namespace spillway::house {
namespace {

/// Behind the parenthesis that opens at `open`, or the end of the text.
std::size_t behind_parenthesis(const std::string& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    if (code[i] == '(') ++depth;
    if (code[i] == ')' && --depth == 0) return i + 1;
  }
  return code.size();
}

/// Where a co_await of such a kind stands.
std::vector<std::size_t> found_in(const std::string& code) {
  static const std::regex behind_operator(R"((&&|\|\|)\s*!?\s*\(?\s*co_await\b)");
  static const std::regex loop(R"(\b(while|for)\s*\()");
  std::vector<std::size_t> found;
  for (std::sregex_iterator it(code.begin(), code.end(), behind_operator), end; it != end; ++it)
    found.push_back(static_cast<std::size_t>(it->position()));
  for (std::sregex_iterator it(code.begin(), code.end(), loop), end; it != end; ++it) {
    const auto begin = static_cast<std::size_t>(it->position());
    const std::size_t open = begin + static_cast<std::size_t>(it->length()) - 1;
    const std::string head = code.substr(open, behind_parenthesis(code, open) - open);
    if (head.find("co_await") != std::string::npos) found.push_back(begin);
  }
  return found;
}

}  // namespace

Findings coroutine_findings(const std::vector<SourceFile>& files) {
  Findings findings;
  for (const auto& file : files) {
    if (!is_cpp(file.path) || file.path.starts_with("tests/")) continue;
    const std::string code = code_only(file.text);
    if (code.find("co_await") == std::string::npos) continue;
    for (const std::size_t at : found_in(code)) {
      const auto line =
          1 + std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      findings.push_back(file.path + ":" + std::to_string(line) +
                         ": a co_await behind && or ||, or in a loop's condition; g++ 12 frees "
                         "what it must not: give it a statement of its own");
    }
  }
  return findings;
}

}  // namespace spillway::house
