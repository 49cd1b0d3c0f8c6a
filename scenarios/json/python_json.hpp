#pragma once

#include <string>
#include <string_view>

namespace spillway::scenarios {

/// JSON as Python writes it, as JSON: NaN, Infinity and -Infinity become strings of these names, so
/// that a file that has them can be read and whoever needs a number there refuses them. What stands
/// behind one in its line moves by two columns.
std::string without_python_numbers(std::string_view text);

}  // namespace spillway::scenarios
