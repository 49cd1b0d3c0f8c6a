#pragma once

#include "reports/result/result.hpp"
#include "reports/view/text.hpp"

#include <string>

namespace spillway::reports {

/// A number of the result with its range behind it: "3,581 (2,700 to 4,200)"; the number alone
/// where the result has no range at that path, or one that reads as one number.
///   times  what the number is of the one at `path`: 86400 of a rate a day
view::Text with_range(const view::Number& number, const result::Result& result,
                      const std::string& path, double times = 1);

/// What ranges cover and what not, and why one of tokens ends at the answer itself where it does;
/// "" for a result without any.
///   beside  a result that is shown with it
std::string range_note(const result::Result& result, const result::Result* beside = nullptr);

}  // namespace spillway::reports
