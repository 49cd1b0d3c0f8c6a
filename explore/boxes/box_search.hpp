#pragma once

#include "explore/boxes/box_bounds.hpp"
#include "explore/trials/trials.hpp"

namespace spillway::explore {

/// A box and the best that was simulated on it.
struct BoxOffer {
  std::string change;  ///< what makes it another box than the answer: "one drive fewer"
  scenarios::Box box;
  double price_usd = 0;
  std::size_t setting = 0;
  Trial trial;         ///< of that setting
  bool meets = false;  ///< what is asked for, price aside
};

/// What a search for the cheapest box found.
struct BoxSearch {
  std::optional<BoxOffer> answer;
  std::vector<BoxOffer> neighbours;     ///< a part more, less or other than the answer
  std::vector<BoxOffer> systems;        ///< the answer's box, the best of each other system
  std::vector<BoxOffer> runners_up;     ///< the cheapest with other cards or another host
  std::vector<scenarios::Box> meeting;  ///< all that were simulated and do it, the answer left out
  /// Without an answer: the fastest within the budget whose drives last, and the cheapest above it
  /// that does, both as far as the most promising settings say.
  std::optional<BoxOffer> nearest, dearer;
  std::uint64_t boxes = 0;      ///< within the budget
  std::uint64_t cheaper = 0;    ///< than the answer; without one, all within the budget
  std::uint64_t ruled_out = 0;  ///< of them, by bounds alone
  std::uint64_t missed = 0;     ///< of them, by simulation of all that bounds leave
  /// Systems that are not searched with and do it on the answer, and cheaper boxes on which they
  /// miss it, in the setting that does best there.
  std::vector<std::string> late_systems;
  std::uint64_t late_missed = 0;
  /// The dearest boxes within the budget, on which systems that are not searched with were tried
  /// because no other does it on any.
  std::uint64_t late_looks = 0;
  std::uint64_t bounded = 0;    ///< bounds that were computed, each of a box and a setting
  std::uint64_t simulated = 0;  ///< scenarios
  /// Every cheaper box is ruled out or missed: there is no cheaper one.
  bool whole() const { return ruled_out + missed == cheaper; }
};

/// How far a search is: called after each batch of simulations.
using BoxProgress = std::function<void(double price_usd, std::uint64_t simulated)>;

/// Finds the cheapest box of the list that does what is asked, and looks at what is beside it.
/// Boxes are taken in order of price; what bounds cannot rule out is simulated, so nothing is
/// assumed of better machines. Settings that are not searched with are tried on that box and, where
/// they do it there, on the cheaper ones.
///   most     scenarios that are simulated at most before the answer stands
///   Throws  ScenarioError when no setting goes with any box
BoxSearch find_box(const Backend& backend, const scenarios::PriceList& list, const BoxNeed& need,
                   std::uint64_t most, const BoxProgress& progress = {});

}  // namespace spillway::explore
