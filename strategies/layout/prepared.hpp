#pragma once

#include "models/program/stages.hpp"
#include "scenarios/description/scenario.hpp"

namespace spillway::strategies {

/// What is computed once for a scenario: the model and its step program. Of the machine it has
/// nothing but where a pipeline is cut, so that all candidates of a decision share it. Movable.
struct Prepared {
  models::Model model;
  models::StepProgram program;
  /// Of a pipeline whose stages stream their layers; else empty: ranks share the whole program.
  std::vector<models::PipelineStage> stages{};
};

/// Builds model and step program of a resolved scenario; nothing for one that trains nothing
/// (`run.io_bench`). Rules are not asked: whoever read the scenario has asked them, whoever made or
/// changed one asks require_supported.
///   Throws  ScenarioError about the model
Prepared prepare(const description::Scenario& scenario);

}  // namespace spillway::strategies
