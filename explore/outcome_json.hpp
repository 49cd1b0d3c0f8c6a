#pragma once

#include "explore/outcomes.hpp"

#include <nlohmann/json.hpp>

namespace spillway::explore {

/// simulate(); whatever it throws is the outcome.
Outcome attempt(const Backend& backend, const description::Scenario& scenario,
                const Effort& effort = {}, result::Trace* trace = nullptr);

/// {"result"}, {"errors"} or {"failure"}.
nlohmann::json outcome_json(const Outcome& outcome);
/// Reads it.
Outcome outcome_of(const nlohmann::json& json);

}  // namespace spillway::explore
