#include "strategies/schedules/step_kernels.hpp"

#include "strategies/machine/gpu_kernels.hpp"

namespace spillway::strategies {

using models::Access;
using Holds = StepTensor::Holds;

/// A weight, its gradient or one of its states, as updates and first values take it.
BoundOperand StepKernels::of_weight(std::uint32_t index, Access access) const {
  const StepTensor& tensor = step_.tensors[index];
  switch (tensor.holds) {
    case Holds::weight:
      return {view(index), access, Role::weight, job_.weight_type(), tensor.weight};
    case Holds::gradient:
      return {view(index), access, Role::gradient, job_.weight_type(), tensor.weight};
    case Holds::master:
      return {view(index), access, Role::master, ElementType::fp32, tensor.weight};
    case Holds::momentum:
      return {view(index), access, Role::momentum, job_.state_type(), tensor.weight};
    case Holds::variance:
      return {view(index), access, Role::variance, job_.state_type(), tensor.weight};
    default:
      throw description::InternalError("an update of what is no weight's");
  }
}

BoundOperand StepKernels::operand(const StepKernel& kernel, const StepOperand& planned) const {
  const StepTensor& tensor = step_.tensors[planned.tensor];
  if (kernel.updated > 0) return of_weight(planned.tensor, planned.access);
  if (tensor.holds == Holds::workspace)
    return {view(planned.tensor), planned.access, Role::workspace, job_.weight_type(), 0};
  BoundOperand bound(view(planned.tensor), planned.access, Role::tensor, job_.weight_type(),
                     tensor.tensor);
  bound.fresh = planned.fresh;
  return bound;
}

GpuKernel StepKernels::sum(const StepKernel& planned, GpuKernel kernel) const {
  kernel.work = GpuWork::sum;
  for (const StepOperand& one : planned.operands) {
    kernel.operands.emplace_back(view(one.tensor), one.access,
                                 one.access == Access::write ? Role::output : Role::input,
                                 job_.weight_type(), 0);
    kernel.bytes += static_cast<double>(step_.tensors[one.tensor].bytes);
  }
  return kernel;
}

GpuKernel StepKernels::bind(const StepKernel& planned, const Numbers& numbers) const {
  GpuKernel kernel;
  kernel.name = planned.name;
  kernel.numbers = numbers;
  if (planned.sums) return sum(planned, std::move(kernel));
  const models::Operator& op = *planned.operation;
  kernel.operation = &op;
  kernel.flops = op.flops.value();
  kernel.bytes = static_cast<double>(op.bytes.value());
  kernel.matrix = op.flops.value() > 0;
  kernel.in_pass = planned.updated == 0;
  kernel.updated = planned.updated;
  for (const StepOperand& one : planned.operands) kernel.operands.push_back(operand(planned, one));
  return kernel;
}

GpuKernel StepKernels::first_values(std::uint32_t tensor) const {
  return first_values_on_gpu(of_weight(tensor, Access::write), 0);
}

}  // namespace spillway::strategies
