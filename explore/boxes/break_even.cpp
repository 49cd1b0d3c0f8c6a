#include "explore/boxes/break_even.hpp"

#include <cmath>

namespace spillway::explore {

using scenarios::Box;
using scenarios::PriceList;

namespace {

/// What a box pays for the part whose prices move, and for all others.
struct Bill {
  double moving = 0, rest = 0;
};

Bill bill_of(const PriceList& list, const Box& box, bool drives) {
  const scenarios::HostPart& host = list.hosts.at(box.host);
  const double gib =
      static_cast<double>(host.memory.at(box.memory).value()) / static_cast<double>(1ull << 30);
  Bill bill;
  if (!drives)
    bill.moving = gib * host.dram_usd_per_gib;
  else if (box.drives > 0)
    bill.moving = static_cast<double>(box.drives) * list.drives.at(box.drive).price_usd;
  bill.rest = price_of(list, box) - bill.moving;
  return bill;
}

/// Below it a part costs nothing, and boxes that differ in nothing else cost the same.
constexpr double least_factor = 0.01;

/// The factor at which both cost the same; NaN where no factor does it.
double factor_of(const Bill& answer, const Bill& other) {
  const double factor = (other.rest - answer.rest) / (answer.moving - other.moving);
  return std::isfinite(factor) && factor > least_factor ? factor : std::nan("");
}

}  // namespace

std::vector<BreakEven> break_evens(const PriceList& list, const BoxSearch& found) {
  std::vector<BreakEven> all;
  if (!found.answer) return all;
  for (const bool drives : {false, true}) {
    const Bill answer = bill_of(list, found.answer->box, drives);
    BreakEven above{drives, HUGE_VAL, {}}, below{drives, 0, {}};
    for (const Box& box : found.meeting) {
      const double factor = factor_of(answer, bill_of(list, box, drives));
      if (factor > 1 && factor < above.factor) above = {drives, factor, box};
      if (factor < 1 && factor > below.factor) below = {drives, factor, box};
    }
    if (std::isfinite(above.factor)) all.push_back(above);
    if (below.factor > 0) all.push_back(below);
  }
  return all;
}

}  // namespace spillway::explore
