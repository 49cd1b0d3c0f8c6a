#pragma once

#include "reports/view/screen.hpp"

namespace spillway::reports {

using view::Screen;
using view::screen_of;

}  // namespace spillway::reports
