#pragma once

#include "reports/result/result.hpp"
#include "reports/view/text.hpp"

#include <string>

namespace spillway::reports {

/// "12 days, flash 29 days (x1.19)": until the maker's rating is written, until the flash is likely
/// worn out, and how often the drive writes each byte; "-" where nothing wears or no rating is
/// known.
view::Text drives_last(const result::Result& result);
view::Text drives_last(double warranty_years, double lifetime_years, double waf);

/// "The maker's warranty ends after 12 days, the flash likely stands 29 days, each byte written
/// 1.19 times inside.", with a blank before it; empty as above.
view::Text lifetimes_sentence(const result::Result& result);

/// "Wear: 137 GB a step, ...": all that is known of the drives that wear out first.
view::Text wear_text(const result::Wear& wear);

/// Of each drive whose fast flash fills up: how much that is, what it writes then, and whether that
/// sets the pace, as far as a what-if says; "" where there is none.
view::Text cache_text(const result::Result& result);

/// The what-if of drives that write at their rated rate for ever.
inline constexpr const char* no_folding = "drives that keep their write rate";

}  // namespace spillway::reports
