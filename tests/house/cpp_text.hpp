#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spillway::house {

/// `text` with comments, and what stands in string and character literals, blanked; every line
/// keeps its number, and its columns.
std::string code_only(std::string_view text);

/// The lines of `text`, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

struct FunctionSpan {
  int first_line = 0;  ///< 1-based, where the signature begins
  int last_line = 0;   ///< where the body's brace closes
};

/// Function bodies outside other functions, by their braces: any pair at namespace or class level
/// that opens neither a scope, an enumeration nor an initialiser after `=`. A lambda or a local
/// class belongs to the function around it. Preprocessor lines are not read.
std::vector<FunctionSpan> functions_of(std::string_view text);

}  // namespace spillway::house
