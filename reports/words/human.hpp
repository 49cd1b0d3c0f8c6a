#pragma once

#include "reports/view/text.hpp"

namespace spillway::reports {

using view::human_bytes;
using view::human_change;
using view::human_count;
using view::human_memory;
using view::human_number;
using view::human_price;
using view::human_rate;
using view::human_share;
using view::human_time;
using view::human_years;

}  // namespace spillway::reports
