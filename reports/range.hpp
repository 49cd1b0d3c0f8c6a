#pragma once

#include "reports/result/result.hpp"
#include "reports/view/text.hpp"

#include <string>

namespace spillway::reports {

/// `text`, a number of the result, with its range behind it: "3,581 (2,700 to 4,200)"; `text` alone
/// where the result has no range at that path, or one that reads as one number.
std::string with_range(const std::string& text, const result::Result& result,
                       const std::string& path, std::string (*words)(double));

/// The same of a number that is not written yet.
view::Text with_range(const view::Number& number, const result::Result& result,
                      const std::string& path);

/// What ranges cover and what not; "" for a result without any.
std::string range_note(const result::Result& result);

}  // namespace spillway::reports
