#pragma once

#include "reports/screen.hpp"
#include "reports/view/table.hpp"

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

}  // namespace spillway::reports
