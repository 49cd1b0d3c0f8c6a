#include "strategies/schedules/step_kernels.hpp"

#include "strategies/machine/gpu_kernels.hpp"

namespace spillway::strategies {

using models::Access;
using Holds = StepTensor::Holds;

ElementType StepKernels::type_of(const StepTensor& tensor) const {
  switch (tensor.holds) {
    case Holds::weight:
      return job_.row(tensor.weight).weight.type;
    case Holds::gradient:
    case Holds::arrival:
      return job_.row(tensor.weight).gradient_format().type;
    case Holds::master:
      return state_type(tensor.weight, StateKind::master);
    case Holds::momentum:
      return state_type(tensor.weight, StateKind::momentum);
    case Holds::variance:
      return state_type(tensor.weight, StateKind::variance);
    default:
      return job_.activation_type();
  }
}

ElementType StepKernels::state_type(std::uint32_t weight, StateKind kind) const {
  const NumberFormat* const format = job_.row(weight).state(kind);
  ENSURE(format, "a state that the weight does not have");
  return format->type;
}

/// A weight, its gradient or one of its states, as updates and first values take it.
BoundOperand StepKernels::of_weight(std::uint32_t index, Access access) const {
  const StepTensor& tensor = step_.tensors[index];
  const auto bound = [&](Role role) {
    return BoundOperand(view(index), access, role, type_of(tensor), tensor.weight);
  };
  switch (tensor.holds) {
    case Holds::weight:
      return bound(Role::weight);
    case Holds::gradient:
      return bound(Role::gradient);
    case Holds::master:
      return bound(Role::master);
    case Holds::momentum:
      return bound(Role::momentum);
    case Holds::variance:
      return bound(Role::variance);
    default:
      throw description::InternalError("an update of what is no weight's");
  }
}

BoundOperand StepKernels::operand(const StepKernel& kernel, const StepOperand& planned) const {
  const StepTensor& tensor = step_.tensors[planned.tensor];
  if (kernel.updated > 0) return of_weight(planned.tensor, planned.access);
  if (tensor.holds == Holds::workspace)
    return {view(planned.tensor), planned.access, Role::workspace, job_.activation_type(), 0};
  BoundOperand bound(view(planned.tensor), planned.access, Role::tensor, type_of(tensor),
                     tensor.tensor);
  bound.fresh = planned.fresh;
  return bound;
}

GpuKernel StepKernels::sum(const StepKernel& planned, GpuKernel kernel) const {
  kernel.work = GpuWork::sum;
  for (const StepOperand& one : planned.operands) {
    kernel.operands.emplace_back(view(one.tensor), one.access,
                                 one.access == Access::write ? Role::output : Role::input,
                                 type_of(step_.tensors[one.tensor]), 0);
    kernel.bytes += static_cast<double>(step_.tensors[one.tensor].bytes);
  }
  return kernel;
}

GpuKernel StepKernels::part(const StepKernel& planned, GpuKernel kernel) const {
  kernel.work = GpuWork::adam_part;
  kernel.operation = planned.operation;
  kernel.part = *planned.part;
  for (const StepOperand& one : planned.operands) {
    const StepTensor& tensor = step_.tensors[one.tensor];
    kernel.bytes +=
        (one.access == Access::read_write ? 2.0 : 1.0) * static_cast<double>(tensor.bytes);
    if (tensor.holds == Holds::workspace)
      kernel.operands.emplace_back(view(one.tensor), one.access, Role::workspace, ElementType::fp32,
                                   tensor.weight);
    else
      kernel.operands.push_back(of_weight(one.tensor, one.access));
  }
  return kernel;
}

GpuKernel StepKernels::bind(const StepKernel& planned, const StepNumbers& numbers) const {
  GpuKernel kernel;
  kernel.name = planned.name;
  kernel.numbers = numbers;
  if (planned.sums) return sum(planned, std::move(kernel));
  if (planned.part) return part(planned, std::move(kernel));
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
  return first_values_on_gpu({of_weight(tensor, Access::write)}, 0);
}

}  // namespace spillway::strategies
