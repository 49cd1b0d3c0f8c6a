#pragma once

#include "explore/boxes/box_search.hpp"

namespace spillway::explore {

/// Where another box becomes the cheapest that does what is asked, when the prices of all memory
/// or of all drives move together.
struct BreakEven {
  bool drives = false;  ///< the prices of drives move; else those of memory
  double factor = 1;    ///< of the prices of the list, above or below 1
  scenarios::Box box;   ///< the winner beyond it
};

/// The nearest above and below the list's prices, for memory and for drives, among the boxes that
/// were found to do it.
std::vector<BreakEven> break_evens(const scenarios::PriceList& list, const BoxSearch& found);

}  // namespace spillway::explore
