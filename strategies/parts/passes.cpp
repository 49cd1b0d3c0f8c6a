#include "strategies/parts/passes.hpp"

namespace spillway::strategies {

namespace {

View view_of(const PlannedOperand& planned, const LayerOperands& at) {
  switch (planned.area) {
    case Area::weights:
      return at.weights->views[planned.offset].part(0, planned.bytes);
    case Area::gradients:
      return (*at.gradients)[planned.offset];  // and what pads its shares
    case Area::saved:
      return (*at.saved)[planned.offset].view(0, planned.bytes);
    case Area::transient:
      return at.transient.part(planned.offset, planned.bytes);
    case Area::logits:
      return at.logits.part(planned.offset, planned.bytes);
    case Area::scratch:
      return at.scratch.part(0, planned.bytes);
    case Area::hidden:
      return (*at.hidden)[planned.offset].view(0, planned.bytes);
    case Area::nowhere:
      break;
  }
  return View();
}

/// Binds one kernel.  written  by slot: gradients that a kernel of this pass has begun
GpuKernel bind(const PlannedKernel& planned, const LayerOperands& at, std::vector<bool>& written) {
  const models::Operator& op = *planned.operation;
  GpuKernel kernel;
  kernel.name = op.name;
  kernel.operation = &op;
  kernel.flops = op.flops.value();
  kernel.bytes = static_cast<double>(op.bytes.value());
  kernel.matrix = op.flops.value() > 0;
  kernel.in_pass = true;
  kernel.recompute = planned.recompute;
  kernel.numbers = at.numbers;
  kernel.operands.reserve(planned.operands.size());
  for (const PlannedOperand& operand : planned.operands) {
    const bool workspace = operand.tensor == PlannedOperand::no_tensor;
    kernel.operands.emplace_back(view_of(operand, at), operand.access,
                                 workspace ? Role::workspace : Role::tensor, at.type,
                                 workspace ? 0 : operand.tensor);
    if (operand.area == Area::gradients && at.fresh && !written[operand.offset]) {
      kernel.operands.back().fresh = (*at.fresh)[operand.offset];
      written[operand.offset] = true;
    }
    ENSURE(kernel.operands.back().view, op.name + " has an operand that is not on the GPU, area " +
                                            std::to_string(static_cast<int>(operand.area)));
  }
  return kernel;
}

/// Adds the copies of the weights that `kernel` reads and that nothing before it waited for.
///   Result  true when there were any
bool await_weights(const PlannedKernel& kernel, const GatheredWeights& weights,
                   std::vector<bool>& awaited, std::vector<Op>& after) {
  bool added = false;
  for (const PlannedOperand& operand : kernel.operands) {
    if (operand.area != Area::weights || awaited[operand.offset]) continue;
    awaited[operand.offset] = true;
    if (!weights.ready[operand.offset]) continue;
    after.push_back(weights.ready[operand.offset]);
    added = true;
  }
  return added;
}

/// Adds the arrivals of the saved tensors that `kernel` uses and that nothing before it waited for.
///   Result  true when there were any
bool await_saved(const PlannedKernel& kernel, std::vector<Op>* arrivals, std::vector<Op>& after) {
  bool added = false;
  if (!arrivals) return false;
  for (const PlannedOperand& operand : kernel.operands) {
    if (operand.area != Area::saved || !(*arrivals)[operand.offset]) continue;
    after.push_back(std::exchange((*arrivals)[operand.offset], Op()));
    added = true;
  }
  return added;
}

}  // namespace

IssuedPass issue_pass(Machine& machine, Rank rank, Group tensor_group, const PassPlan& pass,
                      const LayerOperands& operands, std::vector<Op> after, bool as_they_come) {
  const GatheredWeights& weights = *operands.weights;
  const auto& first = as_they_come ? weights.reads : weights.ready;
  after.insert(after.end(), first.begin(), first.end());
  std::vector<bool> awaited(weights.ready.size(), !as_they_come);
  std::vector<bool> written(weights.ready.size(), false);
  IssuedPass issued;
  Op& last = issued.last;
  std::vector<GpuKernel> kernels;
  const auto flush = [&] {
    if (kernels.empty() && after.empty()) return;
    last = machine.run(rank, kernels, after);
    kernels.clear();
    after.clear();
  };
  for (const PassPlan::Segment& segment : pass.segments) {
    for (const PlannedKernel& planned : segment.kernels) {
      std::vector<Op> copies;
      bool waits = as_they_come && await_weights(planned, weights, awaited, copies);
      waits |= await_saved(planned, operands.arrivals, copies);
      if (waits) {
        if (!kernels.empty()) flush();
        after.insert(after.end(), copies.begin(), copies.end());
      }
      kernels.push_back(bind(planned, operands, written));
    }
    flush();
    if (segment.then_all_reduce) {
      const View sum = view_of(segment.reduced, operands);
      last = machine.collective(rank, tensor_group, Collective::all_reduce, sum, sum, last,
                                operands.type);
      after.push_back(last);
    }
    issued.segments.push_back(last);
  }
  if (!after.empty()) flush();
  return issued;
}

}  // namespace spillway::strategies
