#pragma once

#include "strategies/decide/probe.hpp"
#include "strategies/layout/decision.hpp"

namespace spillway::strategies {

/// Decides all that is open of a run: the values of `auto`, what becomes of saved tensors, which
/// tensors move when. Nothing recurses: what has to be tried is tried by `probe`.
///   tiers   of the machine that it is for: where they grow, plans find what they would need
///   Throws  what a probe throws (InternalError)
Decision decide(description::Scenario scenario, std::shared_ptr<const Prepared> prepared,
                const Probe& probe, Tiers tiers = Tiers::fixed);

/// The same of a scenario whose `auto` values are settled, or stay with the parts' own rules.
///   filled   what resolve_automatic said of it
Decision decide_settled(description::Scenario scenario, std::shared_ptr<const Prepared> prepared,
                        const Probe& probe, Tiers tiers = Tiers::fixed, const Filled& filled = {});

/// The same where what becomes of saved tensors is given: nothing is tried.
Decision decide_given(description::Scenario scenario, std::shared_ptr<const Prepared> prepared,
                      ActivationPlan fates, Tiers tiers = Tiers::fixed);

/// What runs, as people may ask for it: `auto` where the decision found a value after its question
/// was noted.
description::Scenario as_asked(const Decided& decided);

/// What planners say of saved tensors, or what `activations.policy` stands for.
struct DecidedFates {
  ActivationPlan activations;
  nlohmann::json report{};          ///< Result::plan; null: nothing was planned
  std::vector<text::Text> notes{};  ///< Result::notes
};
DecidedFates decide_fates(const description::Scenario& scenario, const Prepared& prepared,
                          const Probe& probe);

}  // namespace spillway::strategies
