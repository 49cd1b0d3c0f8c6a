#pragma once

#include "models/stages.hpp"
#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"
#include "strategies/activation_plan.hpp"
#include "strategies/delays.hpp"
#include "strategies/machine.hpp"

namespace spillway::strategies {

/// Memory that a run takes because there is room for it, and would do without.
struct Filled {
  std::uint64_t host = 0;                 ///< bytes of a node
  std::optional<std::uint64_t> gpu_peak;  ///< of a GPU without it; absent: nothing is filled
};

/// What is computed once for a scenario: the model and its step program. Movable, kept as long as
/// the run.
struct Prepared {
  models::Model model;
  models::StepProgram program;
  /// Instead of what `activations.policy` stands for.
  std::optional<ActivationPlan> activations{};
  /// By rank: delays that a reference repeats (`optimizer.staleness` async on the GPU).
  std::vector<Delays> replay{};
  /// Of a pipeline whose stages stream their layers; else empty: ranks share the whole program.
  std::vector<models::PipelineStage> stages{};
  /// What resolve_automatic found of the scenario.
  Filled filled{};
};

/// Builds model and step program of a resolved scenario; nothing for one that trains nothing
/// (`run.io_bench`). Rules are not asked: whoever read the scenario has asked them, whoever made or
/// changed one asks require_supported.
///   Throws  ScenarioError about the model
Prepared prepare(const description::Scenario& scenario);

/// Runs the scenario's system on `machine`, one coroutine per rank, and sums up its measured steps;
/// or the stream of `run.io_bench`.
///   delays    gets those of updates that no step waited for, by rank; none: empty
///   backend   name of the machine in the result: counting, sim, real
///   Result    infeasible runs are results: the first request that failed; where the machine's
///             tiers grow also peaks and needs, as if nothing had, but no times
///   Throws    what a strategy or machine throws otherwise (InternalError, DeviceError)
result::Result run(Machine& machine, const description::Scenario& scenario,
                   const Prepared& prepared, const std::string& backend,
                   std::vector<Delays>* delays = nullptr);

}  // namespace spillway::strategies
