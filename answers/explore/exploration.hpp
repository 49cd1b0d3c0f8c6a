#pragma once

#include "explore/search/explain.hpp"
#include "explore/store/store.hpp"
#include "reports/answer/exploration.hpp"
#include "scenarios/document/offers.hpp"

#include <string>

namespace spillway::answers {

/// Of a database of explorations: which points of a space are best?
answer::Front front(explore::Store& store, std::int64_t space);

/// For each value of `axis` the accepted point that is best in the first objective.
///   Throws  ScenarioError: the space has no such axis
answer::Groups groups(explore::Store& store, std::int64_t space, const std::string& axis);

/// Why were the other points not accepted?
answer::Reasons reasons(explore::Store& store, std::int64_t space);

/// Which points are best at other prices, with the old price beside the new one?
///   Throws  ScenarioError: offers for none of the parts, or no stored result
answer::RepricedFront repriced(explore::Store& store, std::int64_t space,
                               const std::vector<scenarios::Offer>& offers);

/// Why is a point of the front what it is? What each next step would bring is simulated.
///   Throws  ScenarioError: no such point, one that is not on the front, or one whose result
///           another version of the program wrote and this one cannot read
answer::Explanation explain(const explore::Backend& backend, explore::Store& store,
                            std::int64_t space, std::uint64_t number);

/// The space of that number.
explore::SpaceRow space_row(explore::Store& store, std::int64_t space);

}  // namespace spillway::answers
