#pragma once

#include "reports/view/table.hpp"
#include "reports/words/screen.hpp"

namespace spillway::reports {

using view::Align;
using view::bold;
using view::Cell;
using view::Column;
using view::display_width;
using view::drop_silent_columns;
using view::paragraph;
using view::Table;
using view::to_text;
using view::unbroken;
using view::wrapped;

/// A count, without a unit.
inline text::Number whole_number(std::uint64_t number) {
  return text::plain(static_cast<double>(number));
}

}  // namespace spillway::reports
