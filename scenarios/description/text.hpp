#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace spillway::description {

/// Bytes of the UTF-8 character at `at`; 0: none begins there.
///   Source  RFC 3629, section 4
std::size_t utf8_length(std::string_view text, std::size_t at);

/// `text`, with a question mark for each byte that is no part of a UTF-8 character.
std::string as_utf8(std::string_view text);

/// `text` in one line of a terminal: valid UTF-8, and spaces for the characters that would move its
/// cursor, change its colours or the order in which the others are read: control characters of
/// ASCII and of Latin-1, line and paragraph separators, marks of direction.
std::string printable(std::string_view text);

/// Without the blanks, tabs and ends of lines around it.
std::string_view trimmed(std::string_view text);

/// At most `most` bytes of `text`, in whole characters; where that is not all, "..." ends them.
std::string shortened(std::string_view text, std::size_t most = 60);

/// `text` as one word of bash, whatever its characters, in quotes and in one line: what a terminal
/// would not show is escaped.
std::string shell_quoted(std::string_view text);
/// The same without quotes where it needs none.
std::string shell_word(std::string_view text);

/// JSON as text, whatever bytes its strings have: those that are not UTF-8 become U+FFFD.
///   indent  spaces a level; -1: all in one line
std::string json_text(const nlohmann::json& json, int indent = -1);

}  // namespace spillway::description
