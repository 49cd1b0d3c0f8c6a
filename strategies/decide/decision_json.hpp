#pragma once

#include "reports/result/result.hpp"
#include "strategies/layout/decision.hpp"

namespace spillway::strategies {

/// `schema` of the JSON below.
inline constexpr const char* decision_schema = "spillway/decision/1";

/// A decision as JSON, from which read_decision() makes the same one:
///   scenario    what runs, with the values that `auto` stood for; null is a knob of `strategy`
///               that nobody reads, or that times decide which the run measures (settle_knobs())
///   question    what result.scenario says otherwise, as a JSON patch (RFC 6902); absent: nothing
///   tensors     the tables of a rank's weights, one or one a pipeline stage: see tensors_json.hpp
///   fates       of saved tensors, in the order of their numbers, equal ones folded: ["host", 12];
///               absent: what `activations.policy` stands for by itself
///   migrations  by rank, of a system that plans whole steps: sums of a plan, all of which the
///               scenario says
///   shares      by storage, of `optimizer.paths` that are null: what a run begins with, bytes/s
///   buffers     what a run holds from its beginning to its end, at the fullest instant of each
///               tier: rank, purpose, the knob that sets it, how many of how many bytes; absent:
///               of a system that plans whole steps, or of a run that does not fit
///   replay, filled, tiers, plan, notes, stands_for   as in Decided
///   run  the result of its run; null: `buffers` is absent
nlohmann::json decision_json(const Decision& decision, const result::Result* run = nullptr);

/// The run of a decision that was read has made the buffers that the decision says.
///   Throws  ScenarioError with the path, where this program makes others
void require_same_buffers(const nlohmann::json& decision, const Decision& read,
                          const result::Result& run);

/// The scenario in such JSON, as people write one: see readable().
///   Throws  ScenarioError for JSON of another kind
nlohmann::json scenario_in(const nlohmann::json& decision);

/// Host memory without end (0), which a decision may have (`strategy.plan.migration_rate`) and
/// which nobody may write: a size that can be read stands for it, and is taken back from what was
/// read.
nlohmann::json readable(nlohmann::json scenario);
void take_back(const nlohmann::json& written, description::Scenario& read);

/// Reads what decision_json() wrote. Tries nothing: plans of whole steps are made again, the same.
///   scenario  what scenario_in() gave, read and resolved
///   Throws    ScenarioError with the path of what is wrong, or does not go with the scenario
Decision read_decision(const nlohmann::json& decision, description::Scenario scenario);

}  // namespace spillway::strategies
