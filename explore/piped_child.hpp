#pragma once

#include "explore/child.hpp"

namespace spillway::explore {

/// start_child() for a text that comes piece by piece: `work` writes it into `pipe`.
Child start_piped_child(const std::function<void(int pipe)>& work);

}  // namespace spillway::explore
