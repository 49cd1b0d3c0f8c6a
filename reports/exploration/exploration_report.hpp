#pragma once

#include "reports/answer/exploration.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <string>

namespace spillway::reports {

/// `spillway explore show` for a person: what became of the space, and its front.
view::Document front_document(const answer::Front& front);
std::string front_report(const answer::Front& front, const Screen& screen);

/// `--best-per`: the best point for each value of the axis.
view::Document groups_document(const answer::Groups& groups);
std::string groups_report(const answer::Groups& groups, const Screen& screen);

/// `--why`: how many points were not accepted for which reason, each with an example.
view::Document reasons_document(const answer::Reasons& reasons);
std::string reasons_report(const answer::Reasons& reasons, const Screen& screen);

/// `--price`: the front at other prices, and what that leaves out.
view::Document repriced_document(const answer::RepricedFront& front);
std::string repriced_report(const answer::RepricedFront& front, const Screen& screen);

/// `spillway explore explain`: the point, what each next step would bring, and which brings most.
view::Document explanation_document(const answer::Explanation& explanation);
std::string explanation_report(const answer::Explanation& explanation, const Screen& screen);

}  // namespace spillway::reports
