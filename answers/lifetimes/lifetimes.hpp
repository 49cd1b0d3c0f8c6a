#pragma once

#include "explore/outcome/outcomes.hpp"
#include "reports/answer/lifetimes.hpp"
#include "scenarios/description/scenario.hpp"
#include "strategies/planner/migration/planner.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace spillway::answers {

/// When the tensors of a training step are used, and what a planner may use to move them meanwhile.
struct Profile {
  strategies::planner::Lifetimes lifetimes;
  strategies::planner::PlanSettings settings;
};

/// A scenario with the plan that a run of it takes.
struct TakenPlan {
  description::Scenario scenario;
  text::Text note;  ///< "planned for host memory without drives: faster here than ..."; "": for all
};

/// Simulates the plan for all of the machine and those for less, as a simulation of the scenario
/// does (explore::BestPlan), and takes the fastest. In this process, one after the other.
TakenPlan taken_plan(const explore::Backend& backend, const description::Scenario& scenario);

/// Of a step of a scenario.
///   rank    pipeline stage
///   Throws  ScenarioError: a system that plans nothing, a rank that is not there
Profile profile_of(const description::Scenario& scenario, std::uint32_t rank);

/// Of a file (.csv, its kernels beside it), to be planned for a machine.
///   machine    shipped name or machine file
///   overrides  of the machine and of the planner's settings
///   rank       GPU of the machine
///   Throws     ScenarioError: no machine, a file that cannot be read
Profile profile_of(const std::string& file, const std::string& machine,
                   const std::vector<std::string>& overrides, std::uint32_t rank);

/// The plan of a profile.
///   roofline  also plans at rates of migration from none to 64 GB/s, to memory without end
///   Source    TeraIO section 2.2, Fig. 3 (the roofline)
answer::MigrationPlan plan_lifetimes(const Profile& profile, bool roofline);

}  // namespace spillway::answers
