#pragma once

#include <string_view>

namespace spillway::view {

/// The files of reports/html, one after the other, as they were when the program was built.
extern const std::string_view page_style;
extern const std::string_view page_script;

}  // namespace spillway::view
