#pragma once

#include "strategies/layout/stage_layers.hpp"
#include "strategies/machine/operation.hpp"

#include <optional>

namespace spillway::strategies {

/// Where a pipeline is cut into stages of equal time, by the rates of any GPU: what the kernels of
/// its layers do, those of equal layers once.
class TimedCut {
 public:
  /// Keeps no reference.
  ///   scenario  its stages and its policy of activations count, its machine does not
  TimedCut(const models::Model& model, const models::StepProgram& program,
           const description::Scenario& scenario);

  /// What each layer's forward and backward take on the GPU of `scenario`, in seconds, with what
  /// the policy of activations runs again in backward. What a planner may run again, updates,
  /// collectives and what the CPU computes do not count.
  ///   scenario  as the one of the constructor, but for its machine
  ///   Result    nothing where the machine lacks a rate that the kernels need
  std::optional<std::vector<double>> layer_seconds(const description::Scenario& scenario) const;

  /// The stages on that GPU: the longest is as short as it can be. On a machine that lacks a rate
  /// by FLOPs in place of time: it can be counted on, but not timed.
  std::vector<StageLayers> stages(const description::Scenario& scenario) const;

 private:
  using Kernels = std::vector<LoggedKernel>;  ///< without names
  std::vector<Kernels> distinct_;             ///< of layers that differ
  std::vector<std::size_t> of_layer_;         ///< which of `distinct_`
  std::vector<bool> is_block_;
  std::vector<double> flops_;
  std::uint64_t stages_ = 1;
};

}  // namespace spillway::strategies
