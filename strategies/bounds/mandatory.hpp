#pragma once

#include "strategies/bounds/bounds.hpp"
#include "strategies/layout/timed_cut.hpp"

#include <memory>
#include <optional>

namespace spillway::strategies {

/// Bytes that no run of a scenario does without: of a step of one node, all ranks together, and at
/// once; a GPU's are those of the fullest rank.
struct MandatoryBytes {
  double h2d = 0, d2h = 0;                   ///< through the host
  double drive_read = 0, drive_written = 0;  ///< of what wears, near-storage kernels left out
  double host = 0, gpu = 0, drives = 0;      ///< peaks
};

/// What a step asks of a machine whatever its rates and the sizes of its memories are: no schedule
/// of the scenario's system does with less. One for all machines that differ only in those, but
/// for pipelines that are cut by time, whose stages depend on the rates of the GPU: see holds_for.
///   Where a system plans for the machine, what it may plan is left out (LeftOpen): swapped and
///   cached activations and what is recomputed instead; states that spare host memory keeps off the
///   drives; of plans for each tensor, and of updates that no step waits for, all but the matrix
///   products. What such a plan cannot avoid is computed with the machine: states that neither GPUs
///   nor host memory have room for come and go in each step.
class Mandatory {
 public:
  /// Counts the demand on a machine without limits, the least of two steps.
  ///   fold    Fold::equals: of ranks that do the same one is counted for all, and of the
  ///           micro-batches of a step that are equal a few
  ///   Result  nothing for what trains nothing, and where no such run exists
  ///   Throws  InternalError
  static std::optional<Mandatory> of(const description::Scenario& scenario,
                                     Fold fold = Fold::equals);

  /// Whether what was counted holds for `scenario`, whose machine differs in rates and sizes only:
  /// of a pipeline that is cut by time, whether the rates of its GPU cut it at the same layers.
  bool holds_for(const description::Scenario& scenario) const;

  /// No step is shorter on `scenario`, whose machine differs in rates and sizes only.
  ///   Throws  ScenarioError when it has no compute rate for the training's element type
  double step_s(const description::Scenario& scenario) const;
  /// The same of a pipeline, whose stages wait for each other's passes; 0 without one.
  double pipeline_s(const description::Scenario& scenario) const;

  /// How long each resource works in a step at least, likewise. Storages have bounds of their own
  /// only where it is known which of them gets what; of several, all share one bound.
  ///   Throws  ScenarioError when it has no compute rate for the training's element type
  Bounds busy(const description::Scenario& scenario) const;

  /// Bytes that a step moves at least on `machine`, and that a run holds.
  MandatoryBytes bytes(const description::MachineFile& machine) const;

  /// A memory that is too small for what a run holds from its start to its end, and what the passes
  /// have on a GPU at once besides: "host", "gpu", "ssd"; nullptr when none is.
  const char* too_small(const description::MachineFile& machine) const;

 private:
  Demand demand_;
  std::shared_ptr<const TimedCut> cut_;  ///< of a pipeline that is cut by time; else nothing
  std::vector<StageLayers> stages_;      ///< where it was cut when this was counted
  bool storages_apart_ = true;           ///< which storage gets what does not depend on their rates
  std::vector<std::size_t> layers_;      ///< of each stage of a pipeline
  std::uint64_t host_ = 0, gpu_ = 0, drives_ = 0;  ///< bytes at once, in any run
  std::vector<double> states_;  ///< by rank, where a planner decides where they are
  double nodes_ = 1;            ///< that were counted: bytes that a step moves are of one, the mean
};

/// Whether a GPU has no room for what one operator of a pass computes on: its activations, logits
/// and workspace, which nobody moves while it runs. Larger micro-batches need more. Mandatory finds
/// that as well, but this needs no counted run.
///   Result  false also of plans for each tensor and of pipelines: left to a counted run
///   Throws  ScenarioError when the model cannot run as the scenario says
bool operator_too_large(const description::Scenario& scenario);

/// The drive that wears out first lasts no longer than this while steps take at most `longest_s`;
/// infinity when nothing needs to be written, or a drive has no rating.
double longest_life_years(const MandatoryBytes& bytes, const description::MachineFile& machine,
                          double longest_s);

/// What the drives of a node lose in value in a step at least; 0 where that is not known.
double least_wear_usd(const MandatoryBytes& bytes, const description::MachineFile& machine);

}  // namespace spillway::strategies
