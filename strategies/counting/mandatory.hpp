#pragma once

#include "strategies/counting/bounds.hpp"

#include <memory>
#include <optional>

namespace spillway::strategies {

/// What a step asks of a machine whatever its rates and the sizes of its memories are: no schedule
/// of the scenario's system does with less. One for all machines that differ only in those.
///   Where a system plans for the machine, what it may plan is left out: swapped and cached
///   activations and what is recomputed instead; states that spare host memory keeps off the
///   drives; of plans for each tensor, and of updates that no step waits for, all but the matrix
///   products.
class Mandatory {
 public:
  /// Counts the demand on a machine without limits, the least of two steps.
  ///   Result  nothing for what trains nothing, and where no such run exists
  ///   Throws  InternalError
  static std::optional<Mandatory> of(const description::Scenario& scenario);

  /// No step is shorter on `scenario`, whose machine differs in rates and sizes only.
  ///   Throws  ScenarioError when it has no compute rate for the training's element type
  double step_s(const description::Scenario& scenario) const;

  /// A memory that is too small for what a run holds from its start to its end, and what the passes
  /// have on a GPU at once besides: "host", "gpu", "ssd"; nullptr when none is.
  const char* too_small(const description::MachineFile& machine) const;

 private:
  Demand demand_;
  bool storages_apart_ = true;  ///< which storage gets what does not depend on their rates
  std::uint64_t host_ = 0, gpu_ = 0, drives_ = 0;  ///< bytes at once, in any run
};

}  // namespace spillway::strategies
