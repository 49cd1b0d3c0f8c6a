#pragma once

#include <string>
#include <string_view>

namespace spillway::view {

/// `text` as it may stand in a report, whoever wrote it: valid UTF-8, and spaces for the characters
/// that would move a terminal's cursor, change its colours or the order in which others are read,
/// but not for line ends.
std::string printable_lines(std::string_view text);

}  // namespace spillway::view
