#pragma once

#include <vector>

#include "scenarios/document/document.hpp"
#include "scenarios/reading/read_scenario.hpp"
#include "strategies/rules/rule.hpp"

namespace spillway::scenarios {

/// Every value of the resolved scenario with who decided it, by path; the model's keys stay out.
///   preset  the strategy object of the preset; null without one
std::vector<Setting> settings_of(const description::Scenario& scenario, const Document& document,
                                 const nlohmann::json& preset,
                                 const strategies::rules::Settled& settled);

}  // namespace spillway::scenarios
