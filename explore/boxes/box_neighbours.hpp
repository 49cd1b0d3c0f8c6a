#pragma once

#include "scenarios/document/box.hpp"

#include <string>
#include <utility>
#include <vector>

namespace spillway::explore {

/// A box that differs in one part from another one, and in which: "one drive fewer".
using Neighbour = std::pair<std::string, scenarios::Box>;

/// The boxes beside `box` that can be made from the list: a drive, a size of memory, a number of
/// cards less or more, other drives, the next cheaper and dearer card and host.
std::vector<Neighbour> neighbours_of(const scenarios::PriceList& list, const scenarios::Box& box);

}  // namespace spillway::explore
