#pragma once

#include "models/program/stages.hpp"
#include "scenarios/description/scenario.hpp"

namespace spillway::strategies {

/// Layers [first, last) of a pipeline stage. What lies before the first block goes with the first
/// stage, and what lies behind a block with that block's.
struct StageLayers {
  std::uint32_t first = 0, last = 0;
  bool operator==(const StageLayers&) const = default;
};

/// Stages with equal numbers of blocks.
///   is_block  by layer
std::vector<StageLayers> split_evenly(const std::vector<bool>& is_block, std::uint64_t stages);

/// Stages of which the one with most work has as little as it can.
///   is_block  by layer; as many blocks as stages at least, or the last stages are empty
///   work      by layer
std::vector<StageLayers> split_by_work(const std::vector<bool>& is_block,
                                       const std::vector<double>& work, std::uint64_t stages);

/// Matrix FLOPs of each layer's forward and backward.
std::vector<double> layer_flops(const models::StepProgram& program);

/// The stages of a scenario's pipeline, as `parallel.pipeline_cut` has them (by time: TimedCut);
/// where a stage has several pieces of the model, all pieces in the order of the layers, each with
/// as many blocks.
std::vector<StageLayers> stage_layers(const models::Model& model,
                                      const models::StepProgram& program,
                                      const description::Scenario& scenario);

/// `layers`: of all pieces; each of the `stages` has every so-many-th.
std::vector<models::PipelineStage> cut_into_stages(const models::Model& model,
                                                   const models::StepProgram& program,
                                                   const std::vector<StageLayers>& layers,
                                                   std::uint64_t stages);

}  // namespace spillway::strategies
