#pragma once

#include "explore/remedies/planning.hpp"
#include "reports/answer/simulation.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spillway::answers {

/// What does this scenario need, how fast is it, and what would help?
struct SimulateQuestion {
  scenarios::Resolved scenario;
  std::string today;      ///< "2026-11-22": prices a year older than that are named; "": none is
  bool range = false;     ///< also how far headline numbers may be off
  bool decision = false;  ///< also what was decided, from which the run can be repeated
  result::Trace* trace = nullptr;  ///< receives all spans; the run is then one of this process
  std::function<void()> begin_run = {};  ///< called between the what-ifs and the run itself
};

/// Simulates the scenario and what each next piece of hardware would bring to it.
///   Result  nothing when the backend's Watch ended it before the scenario was simulated; the
///           remedy is left out, as it takes its time: find_remedies
///   Throws  ScenarioError, DeviceError, InternalError: what kept the scenario from its result
std::optional<answer::Simulation> simulate(const explore::Backend& backend,
                                           const SimulateQuestion& question);

/// Looks for what makes a scenario fit: what to buy, then what to change. Both are simulated.
///   result     of the scenario, which does not fit, with its needs
///   resolve    reads the scenario with further overrides
///   on_memory  receives what to buy before the search goes on
answer::Remedies find_remedies(const explore::Backend& backend,
                               const description::Scenario& scenario, const result::Result& result,
                               const explore::Resolve& resolve,
                               const std::function<void(const answer::Remedy&)>& on_memory = {});

/// Whether anything can make it fit: it does not, and it trains.
bool needs_remedy(const description::Scenario& scenario, const result::Result& result);

/// Which of a machine's prices are more than a year old on that day, in a sentence; "": none is.
std::string old_prices_words(const description::MachineFile& machine, const std::string& today);

/// Says in a result which of the prices in its `price_usd` are more than a year old on that day.
void date_prices(result::Result& result, const std::string& today);

}  // namespace spillway::answers
