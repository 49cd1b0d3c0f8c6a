#pragma once

#include "strategies/layout/job.hpp"
#include "strategies/schedules/migrations.hpp"

namespace spillway::strategies {

/// Binds the kernels of a planned step to the GPU buffers in which their operands are.
class StepKernels {
 public:
  /// All of them outlive it.
  StepKernels(const Job& job, const PlannedStep& step, const Migrations& tensors)
      : job_(job), step_(step), tensors_(tensors) {}

  /// A kernel that runs on the GPU: no exchange. Its operands are there.
  GpuKernel bind(const StepKernel& planned, const StepNumbers& numbers) const;
  /// First values of a weight or of one of its states.
  GpuKernel first_values(std::uint32_t tensor) const;
  /// The part of a tensor's buffer that kernels see.
  View view(std::uint32_t tensor) const {
    return tensors_.gpu(tensor).view(0, step_.tensors[tensor].bytes);
  }

 private:
  ElementType type_of(const StepTensor& tensor) const;
  ///   Throws  InternalError: the weight has no such state
  ElementType state_type(std::uint32_t weight, StateKind kind) const;
  BoundOperand of_weight(std::uint32_t index, models::Access access) const;
  BoundOperand operand(const StepKernel& kernel, const StepOperand& planned) const;
  GpuKernel part(const StepKernel& planned, GpuKernel kernel) const;
  GpuKernel sum(const StepKernel& planned, GpuKernel kernel) const;

  const Job& job_;
  const PlannedStep& step_;
  const Migrations& tensors_;
};

}  // namespace spillway::strategies
