#include "hw_backend/real_work.hpp"

namespace spillway::hw_backend {

using strategies::GpuWork;
using strategies::Role;

namespace {

/// First values, then zeros up to the end of the share.
void initialize(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel,
                std::uint32_t weight, Output into, std::uint64_t room) {
  const Lowering& lowering = *context.lowering;
  const WorkContext::Part part = context.part_of(weight);
  const std::uint64_t count = part.slice.count(kernel.first_element, room);
  if (count)
    device.initialize(initial_rule(*lowering.model, weight), initial_stream(lowering.seed, weight),
                      part.slice, kernel.first_element, count, into);
  const std::uint64_t width = size_of(into.type);
  if (count < room) device.zero(into.data + count * width, (room - count) * width);
}

/// The same of a matrix whose numbers are packed.
void pack(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel,
          const RawOperand& operand) {
  const Lowering& lowering = *context.lowering;
  const Packing packing = packing_of(context, operand, kernel.first_element);
  device.initialize_packed(initial_rule(*lowering.model, operand.index),
                           initial_stream(lowering.seed, operand.index),
                           context.part_of(operand.index).slice, packing, operand.data);
  device.zero(operand.data + packing.bytes(), operand.bytes - packing.bytes());
}

void first_values(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel) {
  for (const RawOperand& operand : kernel.operands) {
    if (operand.packed && operand.role == Role::weight)
      pack(device, context, kernel, operand);
    else if (operand.role == Role::weight || operand.role == Role::master)
      initialize(device, context, kernel, operand.index, operand.output(),
                 operand.bytes / size_of(operand.type));
    else
      device.zero(operand.data, operand.bytes);
  }
}

const RawOperand* find(const std::vector<RawOperand>& operands, Role role) {
  for (const RawOperand& operand : operands)
    if (operand.role == role) return &operand;
  return nullptr;
}

/// The step of an optimizer with at most a momentum.
void update_with_momentum(Primitives& device, const WorkContext& context,
                          const strategies::Numbers& at, const SgdArrays& arrays,
                          const std::optional<Array>& momentum) {
  const AdamNumbers numbers = adam_numbers(*context.scenario, at);
  if (!momentum)
    return device.sgd(arrays, {numbers.learning_rate, numbers.weight_decay, numbers.inverse_scale});
  device.momentum_step({arrays.master, *momentum, arrays.gradient, arrays.weight, arrays.n},
                       momentum_numbers(*context.scenario, at));
}

/// The same of Adam, where momentum and variance lie in 8 bits: as two operands or one behind the
/// other in `first`.
void update_in_8_bits(Primitives& device, const AdamArrays& arrays, const RawOperand& first,
                      const RawOperand* second, const AdamNumbers& numbers) {
  const std::uint64_t bytes = second ? first.bytes : first.bytes / 2;
  const std::uint64_t n = PackedState::numbers(bytes);
  ENSURE(n <= arrays.n, "states in 8 bits of more numbers than their weight has");
  const PackedState momentum{first.data, n, true};
  const PackedState variance{second ? second->data : first.data + bytes, n, false};
  device.adam_in_8_bits({arrays.master, momentum, variance, arrays.gradient, arrays.weight, n},
                        numbers);
}

/// The optimizer's step of one weight's share.
void update(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel) {
  const RawOperand* weight = find(kernel.operands, Role::weight);
  const RawOperand* gradient = find(kernel.operands, Role::gradient);
  const RawOperand* states = find(kernel.operands, Role::states);
  ENSURE(weight && gradient, "an update without a weight or its gradient");
  const std::uint64_t n =
      std::min(weight->bytes / size_of(weight->type), gradient->bytes / size_of(gradient->type));
  const AdamNumbers numbers = adam_numbers(*context.scenario, kernel.numbers);
  Array master{weight->data, weight->type};
  std::optional<Array> narrow;
  if (const RawOperand* own = find(kernel.operands, Role::master)) {
    narrow = master;
    master = {own->data, own->type};
  }
  const RawOperand* first = find(kernel.operands, Role::momentum);
  if (!description::is_adam(context.scenario->training.optimizer)) {
    const RawOperand* kept = first ? first : states;
    std::optional<Array> momentum;
    if (kept) momentum = {kept->data, kept->type};
    return update_with_momentum(device, context, kernel.numbers,
                                {master, {gradient->data, gradient->type}, narrow, n}, momentum);
  }
  const RawOperand* second = find(kernel.operands, Role::variance);
  const RawOperand* const packed = first ? first : states;
  if (packed && packed->packed)
    return update_in_8_bits(device, {master, {}, {}, {gradient->data, gradient->type}, narrow, n},
                            *packed, second, numbers);
  if (first && second)
    return device.adam({master,
                        {first->data, first->type},
                        {second->data, second->type},
                        {gradient->data, gradient->type},
                        narrow,
                        n},
                       numbers);
  ENSURE(states, "Adam without states");
  const Array momentum{states->data, states->type};
  const Array variance{states->data + n * size_of(states->type), states->type};
  device.adam({master, momentum, variance, {gradient->data, gradient->type}, narrow, n}, numbers);
}

AdamPart part_of(strategies::AdamPart part) {
  switch (part) {
    case strategies::AdamPart::momentum:
      return AdamPart::momentum;
    case strategies::AdamPart::decay:
      return AdamPart::decay;
    case strategies::AdamPart::variance:
      return AdamPart::variance;
    case strategies::AdamPart::root:
      return AdamPart::root;
    case strategies::AdamPart::correct:
      return AdamPart::correct;
    case strategies::AdamPart::shift:
      return AdamPart::shift;
    case strategies::AdamPart::apply:
      return AdamPart::apply;
  }
  return AdamPart::apply;
}

/// One kernel of an update that is not fused.
void part_of_update(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel) {
  AdamPartArrays arrays;
  const auto take = [&](Role role, auto& into) {
    const RawOperand* operand = find(kernel.operands, role);
    if (!operand) return false;
    into = {operand->data, operand->type};
    const std::size_t room = operand->bytes / size_of(operand->type);
    arrays.n = arrays.n ? std::min(arrays.n, room) : room;
    return true;
  };
  Array weight;
  const bool narrow = take(Role::weight, weight);
  if (!take(Role::master, arrays.master))
    arrays.master = weight;
  else if (narrow)
    arrays.weight = weight;
  take(Role::momentum, arrays.momentum);
  take(Role::variance, arrays.variance);
  take(Role::workspace, arrays.denominator);
  take(Role::gradient, arrays.gradient);
  device.adam_part(part_of(kernel.part), arrays, adam_numbers(*context.scenario, kernel.numbers));
}

void sum(Primitives& device, const RawGpuKernel& kernel) {
  const RawOperand* into = find(kernel.operands, Role::output);
  const RawOperand *first = nullptr, *second = nullptr;
  for (const RawOperand& operand : kernel.operands)
    if (operand.role == Role::input) (first ? second : first) = &operand;
  ENSURE(into && first, "a sum without operands");
  const std::uint64_t count = into->bytes / size_of(into->type);
  if (second)
    device.add(count, first->input(), second->input(), into->output());
  else
    device.convert(count, first->input(), into->output());
}

/// Chooses columns, or moves them between their matrix and where they lie one beside the other.
void columns(Primitives& device, const RawGpuKernel& kernel) {
  const RawOperand* from = find(kernel.operands, Role::input);
  const RawOperand* into = find(kernel.operands, Role::output);
  const RawOperand* chosen = find(kernel.operands, Role::indices);
  ENSURE(from && chosen, "columns of no matrix");
  auto* const indices = reinterpret_cast<std::uint32_t*>(chosen->data);
  const ChosenColumns some{kernel.rows, kernel.columns, chosen->bytes / sizeof *indices, indices};
  if (kernel.work == GpuWork::choose_columns) {
    const RawOperand* sums = find(kernel.operands, Role::workspace);
    ENSURE(sums, "columns that are chosen by no sums");
    return device.choose_columns(some, from->input(), reinterpret_cast<float*>(sums->data),
                                 indices);
  }
  ENSURE(into, "columns that go nowhere");
  if (kernel.work == GpuWork::take_columns)
    device.take_columns(some, from->input(), into->output());
  else
    device.put_columns(some, from->input(), into->output());
}

void compute(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel,
             double* loss) {
  const models::Operator& op = *kernel.operation;
  if (op.kind == models::OperatorKind::update) return update(device, context, kernel);
  std::vector<Bound> bound;
  std::byte* workspace = nullptr;
  for (const RawOperand& operand : kernel.operands) {
    if (operand.role == Role::workspace) {
      workspace = operand.data;
      continue;
    }
    // what pads a gradient's shares is added up and checked with it
    const std::uint64_t own = context.lowering->program->tensors[operand.index].bytes.value();
    if (operand.fresh && operand.bytes > own) device.zero(operand.data + own, operand.bytes - own);
    bound.push_back({operand.index, operand.data, operand.fresh});
  }
  const Moment moment{kernel.numbers.step, static_cast<std::uint32_t>(kernel.numbers.micro_batch),
                      context.data_index,  kernel.numbers.loss_scale,
                      context.share,       context.tensor};
  execute(device, *context.lowering, op, bound, workspace, moment, loss);
}

}  // namespace

Packing packing_of(const WorkContext& context, const RawOperand& operand,
                   std::uint64_t first_element) {
  const std::optional<Packing> packing = packing_of(*context.lowering, operand.index);
  ENSURE(packing && packing->bytes() <= operand.bytes && first_element == 0,
         "a share of packed numbers is to be made");
  return *packing;
}

WorkContext::Part WorkContext::part_of(std::uint32_t weight) const {
  const models::Workload& workload = lowering->program->workload;
  const bool routed = lowering->model->weights.at(weight).routed;
  return {slice_of(*lowering->model, workload, weight, tensor, data_index % workload.expert),
          routed ? workload.expert : 1};
}

RawGpuKernel::RawGpuKernel(const strategies::GpuKernel& kernel)
    : operation(kernel.operation),
      work(kernel.work),
      part(kernel.part),
      numbers(kernel.numbers),
      value(kernel.value),
      first_element(kernel.first_element),
      rows(kernel.rows),
      columns(kernel.columns) {
  operands.reserve(kernel.operands.size());
  for (const strategies::BoundOperand& operand : kernel.operands) operands.emplace_back(operand);
}

MomentumNumbers momentum_numbers(const description::Scenario& scenario,
                                 const strategies::Numbers& numbers) {
  const AdamNumbers of = adam_numbers(scenario, numbers);
  MomentumNumbers step;
  step.learning_rate = of.learning_rate;
  step.weight_decay = of.weight_decay;
  step.inverse_scale = of.inverse_scale;
  if (scenario.training.optimizer == description::OptimizerKind::lion) {
    step.rule = MomentumRule::lion;
    step.beta = 0.99;
  }
  return step;
}

AdamNumbers adam_numbers(const description::Scenario& scenario,
                         const strategies::Numbers& numbers) {
  AdamNumbers adam;
  adam.learning_rate = scenario.training.learning_rate;
  adam.inverse_scale = numbers.inverse_scale;
  return at_step(adam, numbers.update);
}

void run_kernel(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel,
                double* loss) {
  switch (kernel.work) {
    case GpuWork::operation:
      return compute(device, context, kernel, loss);
    case GpuWork::sum:
      return sum(device, kernel);
    case GpuWork::norm:
      return;  // nothing reads it: clipping is no part of any schedule yet
    case GpuWork::check: {
      const RawOperand* input = find(kernel.operands, Role::input);
      const RawOperand* output = find(kernel.operands, Role::output);
      ENSURE(input && output, "a check without operands");
      return device.check(input->bytes / size_of(input->type), input->input(),
                          reinterpret_cast<float*>(output->data));
    }
    case GpuWork::set: {
      const RawOperand* output = find(kernel.operands, Role::output);
      ENSURE(output, "nothing to set");
      return device.set(kernel.value, reinterpret_cast<float*>(output->data));
    }
    case GpuWork::initialize:
      return first_values(device, context, kernel);
    case GpuWork::choose_columns:
    case GpuWork::take_columns:
    case GpuWork::put_columns:
      return columns(device, kernel);
    case GpuWork::adam_part:
      return part_of_update(device, context, kernel);
  }
}

void go_through(Primitives& device, const Lowering& lowering) {
  const models::StepProgram& program = *lowering.program;
  // aligned as whatever begins in an arena is: products are planned by that, too
  auto* const nowhere = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 30);
  for (const models::Span& pass : {program.forward, program.backward})
    for (std::uint32_t i = pass.first; i < pass.last; ++i)
      for (const bool fresh : {true, false}) {
        if (models::is_collective(program.operators[i].kind)) continue;
        std::vector<Bound> bound;
        for (const models::Operand& operand : program.operators[i].operands)
          bound.push_back({operand.tensor, nowhere, fresh});
        execute(device, lowering, program.operators[i], bound, nowhere, {},
                reinterpret_cast<double*>(nowhere));
      }
}

}  // namespace spillway::hw_backend
