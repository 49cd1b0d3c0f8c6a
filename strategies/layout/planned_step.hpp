#pragma once

#include "strategies/layout/job.hpp"
#include "strategies/planner/migration/lifetimes.hpp"

namespace spillway::strategies {

/// A tensor of a planned step: one GPU buffer of its own, or away.
struct StepTensor {
  enum class Holds : std::uint8_t {
    program,  ///< an activation, or its gradient, of one micro-batch
    weight,
    gradient,  ///< of a weight
    master,
    momentum,
    variance,
    workspace,
    arrival,  ///< a tied gradient from another stage
  };
  Holds holds = Holds::program;
  planner::TensorKind kind = planner::TensorKind::activation;
  Purpose purpose = Purpose::activations;
  std::uint64_t bytes = 0;  ///< as kernels see it
  std::uint64_t taken = 0;  ///< on the GPU, rounded as its allocator does
  bool persistent = false;
  std::uint32_t weight = 0;     ///< of weights, gradients, arrivals and states
  models::TensorId tensor = 0;  ///< of the step program
};

struct StepOperand {
  std::uint32_t tensor = 0;  ///< index into PlannedStep::tensors
  models::Access access = models::Access::read;
  bool fresh = false;  ///< a sum begins here
};

/// One tensor's way between stages. Both ends name it alike.
struct Handover {
  std::uint32_t tensor = 0;
  std::uint32_t peer = 0;  ///< rank
  bool sends = false;
  std::uint64_t key = 0;
};

/// A kernel, or an exchange with other stages.
struct StepKernel {
  std::string_view name;
  const models::Operator* operation = nullptr;  ///< of an exchange or a sum: none
  result::Phase phase = result::Phase::forward;
  std::uint64_t micro = 0;
  bool last_micro = false;
  std::vector<StepOperand> operands;
  std::vector<Handover> handovers;
  bool sums = false;             ///< a tied gradient: the first operand = second + third
  std::optional<AdamPart> part;  ///< of an update that is not fused
  double updated = 0;            ///< parameters, of an optimizer step
  double seconds = 0;            ///< without waits
  double start_s = 0;            ///< with the waits for other stages
};

/// What one rank does in a step, kernel by kernel; every rank's together make the pipeline's time
/// line.
struct PlannedStep {
  std::vector<StepTensor> tensors;
  std::vector<StepKernel> kernels;

  /// Slots with the waits for other stages, so that transfers may use them.
  planner::Lifetimes lifetimes() const;
};

/// The steps of all stages: 1F1B over parallel.pipeline, layers split equally, updates weight by
/// weight behind the last backward.
///   Tied weights  both stages hold a copy; their gradients are added before the update
///   Throws        ScenarioError for a model whose stages would exchange more than hidden states
std::vector<PlannedStep> plan_steps(const Job& job, Rounding gpu);

}  // namespace spillway::strategies
