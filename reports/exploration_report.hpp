#pragma once

#include "reports/answer/exploration.hpp"
#include "reports/screen.hpp"

#include <string>

namespace spillway::reports {

/// `spillway explore show` for a person: what became of the space, and its front.
std::string front_report(const answer::Front& front, const Screen& screen);

/// `--best-per`: the best point for each value of the axis.
std::string groups_report(const answer::Groups& groups, const Screen& screen);

/// `--why`: how many points were not accepted for which reason, each with an example.
std::string reasons_report(const answer::Reasons& reasons, const Screen& screen);

/// `spillway explore explain`: the point, what each next step would bring, and which brings most.
std::string explanation_report(const answer::Explanation& explanation, const Screen& screen);

}  // namespace spillway::reports
