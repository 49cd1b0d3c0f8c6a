#include "hw_backend/arithmetic/operands.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

void scatter_experts(const Call& call) {
  OperandReader operands(call);
  const Routing routing = call.routing();
  const bool copied = operands.left() == 4;
  const Operand x = copied ? operands.take() : Operand();
  const Operand logits = operands.take(), shares = operands.take();
  call.device.route(routing, logits.read(), shares.floats());
  if (!copied) return;
  const Operand copies = operands.take();
  call.device.scatter_rows(routing, copies.elements / routing.copies(), nullptr, x.read(),
                           copies.write());
}

void scatter_experts_backward(const Call& call) {
  OperandReader operands(call);
  const Routing routing = call.routing();
  const bool logits_kept = models::keeps_logits(routing.rule);
  const bool copied = operands.left() == (logits_kept ? 6u : 5u);
  const Operand shares_gradient = operands.take();
  const Operand copies_gradient = copied ? operands.take() : Operand();
  const Operand shares = operands.take();
  const Operand logits = logits_kept ? operands.take() : Operand();
  if (copied) {
    const Operand x_gradient = operands.take();
    call.device.gather_rows(routing, copies_gradient.elements / routing.copies(), nullptr,
                            copies_gradient.read(), x_gradient.write());
  }
  call.device.route_backward(routing, logits.read(), shares.floats(), shares_gradient.floats(),
                             operands.take().write());
}

void gather_experts(const Call& call) {
  OperandReader operands(call);
  const Routing routing = call.routing();
  const Operand parts = operands.take(), shares = operands.take(), output = operands.take();
  call.device.gather_rows(routing, parts.elements / routing.copies(), shares.floats(), parts.read(),
                          output.write());
}

void gather_experts_backward(const Call& call) {
  OperandReader operands(call);
  const Routing routing = call.routing();
  const Operand gradient = operands.take(), parts = operands.take(), shares = operands.take();
  const Operand parts_gradient = operands.take(), shares_gradient = operands.take();
  const std::uint64_t width = parts.elements / routing.copies();
  ENSURE(!shares_gradient.add, "something besides its sum reads what experts count");
  call.device.scatter_rows(routing, width, shares.floats(), gradient.read(),
                           parts_gradient.write());
  call.device.gather_backward(routing, width, gradient.read(), parts.read(),
                              shares_gradient.floats());
}

void weighing(const Call& call) {
  OperandReader operands(call);
  const Operand x = operands.take(), weights = operands.take(), y = operands.take();
  call.device.weigh_rows(weights.elements, x.elements / weights.elements, x.read(), weights.read(),
                         y.write());
}

void weighing_backward(const Call& call) {
  OperandReader operands(call);
  const Operand y = operands.take(), x = operands.take(), weights = operands.take();
  const Operand x_gradient = operands.take(), weights_gradient = operands.take();
  call.device.weigh_rows_backward(weights.elements, x.elements / weights.elements, y.read(),
                                  x.read(), weights.read(), x_gradient.write(),
                                  weights_gradient.write());
}

}  // namespace

Lower lowering_of_experts(models::OperatorFunction function) {
  using Function = models::OperatorFunction;
  switch (function) {
    case Function::scatter_experts:
      return scatter_experts;
    case Function::scatter_experts_backward:
      return scatter_experts_backward;
    case Function::gather_experts:
      return gather_experts;
    case Function::gather_experts_backward:
      return gather_experts_backward;
    case Function::weighing:
      return weighing;
    case Function::weighing_backward:
      return weighing_backward;
    default:
      return nullptr;
  }
}

}  // namespace spillway::hw_backend
