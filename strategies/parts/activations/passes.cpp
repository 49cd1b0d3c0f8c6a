#include "strategies/parts/activations/passes.hpp"

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
GpuKernel bind_kernel(const PlannedKernel& planned, const LayerOperands& at,
                      std::vector<bool>& written) {
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
                                 workspace ? Role::workspace : Role::tensor, operand.type,
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

/// Adds the arrivals of the saved tensors among `operands` that nothing before waited for.
///   Result  true when there were any
bool await_saved(const std::vector<PlannedOperand>& operands, std::vector<Op>* arrivals,
                 std::vector<Op>& after) {
  bool added = false;
  if (!arrivals) return false;
  for (const PlannedOperand& operand : operands) {
    if (operand.area != Area::saved || !(*arrivals)[operand.offset]) continue;
    after.push_back(std::exchange((*arrivals)[operand.offset], Op()));
    added = true;
  }
  return added;
}

}  // namespace

PassIssuer::PassIssuer(Machine& machine, Rank rank, const Meetings& meetings, const PassPlan& pass,
                       const LayerOperands& operands, std::vector<Op> after, bool as_they_come)
    : machine_(machine),
      rank_(rank),
      meetings_(meetings),
      pass_(pass),
      operands_(operands),
      as_they_come_(as_they_come),
      after_(std::move(after)),
      awaited_(operands.weights->ready.size(), !as_they_come),
      written_(operands.weights->ready.size(), false) {
  const GatheredWeights& weights = *operands.weights;
  const auto& first = as_they_come ? weights.reads : weights.ready;
  after_.insert(after_.end(), first.begin(), first.end());
}

void PassIssuer::flush() {
  if (kernels_.empty() && after_.empty()) return;
  after_.insert(after_.end(), earlier_.begin(), earlier_.end());
  earlier_ = std::exchange(beside_, {});
  issued_.last = machine_.run(rank_, kernels_, after_);
  if (!issued_.first) issued_.first = issued_.last;
  kernels_.clear();
  after_.clear();
}

/// Copies of weights that stay are made by the first micro-batch of a step alone.
bool PassIssuer::made_already(const PlannedKernel& planned) const {
  return planned.operation->function == models::OperatorFunction::quantize_weights &&
         (planned.recompute || operands_.numbers.micro_batch > 0);
}

void PassIssuer::add(const PlannedKernel& planned) {
  if (made_already(planned)) return;
  std::vector<Op> copies;
  bool waits = as_they_come_ && await_weights(planned, *operands_.weights, awaited_, copies);
  waits |= await_saved(planned.operands, operands_.arrivals, copies);
  if (waits) {
    if (!kernels_.empty()) flush();
    after_.insert(after_.end(), copies.begin(), copies.end());
  }
  kernels_.push_back(bind_kernel(planned, operands_, written_));
}

/// What comes behind the kernels of `segment` and is none.
Op PassIssuer::meet(const PassPlan::Segment& segment) {
  std::vector<View> views;
  for (const PlannedOperand& operand : segment.of) views.push_back(view_of(operand, operands_));
  PartPieces pieces{segment.then->pieces_out, segment.then->pieces_in};
  const auto meets = [&](Group group, Collective what) {
    return machine_.collective(rank_, group, what, views.front(), views.back(), issued_.last,
                               segment.of.front().type, pieces);
  };
  switch (segment.then->kind) {
    case models::OperatorKind::all_reduce:
      return meets(meetings_.tensor, Collective::all_reduce);
    case models::OperatorKind::all_gather:
      return meets(meetings_.tensor, Collective::all_gather);
    case models::OperatorKind::reduce_scatter:
      return meets(meetings_.tensor, Collective::reduce_scatter);
    case models::OperatorKind::all_to_all:
      pieces.shares = meetings_.to_experts;
      pieces.returns = segment.then->returns;
      return meets(meetings_.expert, Collective::all_to_all);
    case models::OperatorKind::context_all_to_all:
      return meets(meetings_.context, Collective::all_to_all);
    case models::OperatorKind::ring_shift:
      return meets(meetings_.context, Collective::ring_shift);
    default:
      break;
  }
  ENSURE(meetings_.cpu, segment.then->name + " has no CPU that computes it");
  return meetings_.cpu->compute(*segment.then, segment.of, views, operands_.numbers, issued_.last);
}

/// Behind the kernels that made it and all that was passed on before these.
void PassIssuer::pass_on(const PassPlan::Segment& segment) {
  std::vector<Op> after = earlier_;
  after.push_back(issued_.last);
  const View from = view_of(segment.of.front(), operands_);
  const View to = view_of(segment.of.back(), operands_);
  beside_.push_back(machine_.collective(rank_, meetings_.context, Collective::ring_shift, from, to,
                                        after, segment.of.front().type));
}

Op PassIssuer::next() {
  const PassPlan::Segment& segment = pass_.segments.at(issued_.segments.size());
  for (const PlannedKernel& planned : segment.kernels) {
    add(planned);
    if (!beside_.empty()) flush();  // the one kernel that runs beside them
  }
  if (segment.then) await_saved(segment.of, operands_.arrivals, after_);
  flush();
  if (segment.then && segment.then->beside) {
    pass_on(segment);
  } else if (segment.then) {
    issued_.last = meet(segment);
    after_.push_back(issued_.last);
  }
  issued_.segments.push_back(issued_.last);
  return issued_.last;
}

IssuedPass PassIssuer::finish() {
  if (!after_.empty()) flush();
  return std::move(issued_);
}

PassIssuer Passes::begin(const PassPlan& pass, const LayerOperands& operands,
                         std::vector<Op> after) const {
  return PassIssuer(machine_, rank_, meetings_, pass, operands, std::move(after), as_they_come_);
}

IssuedPass Passes::issue(const PassPlan& pass, const LayerOperands& operands,
                         std::vector<Op> after) const {
  PassIssuer issuer = begin(pass, operands, std::move(after));
  for (std::size_t i = 0; i < pass.segments.size(); ++i) static_cast<void>(issuer.next());
  return issuer.finish();
}

}  // namespace spillway::strategies
