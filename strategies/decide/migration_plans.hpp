#pragma once

#include "strategies/layout/decision.hpp"
#include "strategies/layout/planned_step.hpp"
#include "strategies/machine/machine.hpp"
#include "strategies/planner/migration/planner.hpp"

namespace spillway::strategies {

/// What a tier must have at least so that a plan finds room, and the request that it lacks for.
struct Growth {
  TierId tier = TierId::gpu;
  Bytes capacity;  ///< 0 of storage, which does not say how much
  result::Infeasible request;
};

/// One rank of a system that plans whole steps: what it does, and what moves meanwhile.
struct RankPlan {
  PlannedStep step;
  planner::Plan plan;
  std::uint64_t capacity = 0;  ///< bytes of GPU memory for tensors
  bool link_is_short = false;  ///< a way over the GPU's link is slower than the array
  /// What it asks of its tiers beyond what they have, in order. Where they do not grow it is the
  /// first that ends the run, and the plan is none.
  std::vector<Growth> growths{};
};

/// Adds one rank's plan to what the plans of all ranks come to, for Result::plan.
///   memory  bytes of its GPU; 0: unlimited
///   all     null before the first
void add_to_report(const planner::Plan& plan, const planner::Lifetimes& lifetimes,
                   std::uint64_t memory, nlohmann::json& all);

/// Whether both runs take the same time, if they fit: the same moves on machines that differ only
/// in how much host memory they have, or in drives that neither moves anything to. False also of
/// systems that do not plan whole steps.
bool moves_alike(const Decided& one, const Decided& other);

/// The plans of all ranks; where tiers do not grow, up to the first that finds no room: the run
/// ends with that one. Deterministic: a scenario says all of them.
///   Throws  ScenarioError for a model whose stages would exchange more than hidden states
std::shared_ptr<const std::vector<RankPlan>> plan_ranks(const Decided& decided);

}  // namespace spillway::strategies
