#include "hw_backend/arithmetic/matrix_steps.hpp"
#include "hw_backend/machine/real_work.hpp"

namespace spillway::hw_backend {

using strategies::Role;

namespace {

/// What every update has: the new master goes to `narrow` too, where kernels read another copy.
struct Updated {
  const models::WeightTensor* weight = nullptr;
  Array master;
  ConstArray gradient;
  std::optional<Array> narrow;
  std::uint64_t n = 0;
  /// States one behind the other, or momentum and variance by themselves; null: not there.
  const RawOperand *states = nullptr, *momentum = nullptr, *variance = nullptr;
  const RawOperand* workspace = nullptr;

  const RawOperand* first_state() const { return momentum ? momentum : states; }
};

Updated updated_by(const WorkContext& context, const RawGpuKernel& kernel) {
  const RawOperand* const weight = kernel.find(Role::weight);
  const RawOperand* const gradient = kernel.find(Role::gradient);
  ENSURE(weight && gradient, "an update without a weight or its gradient");
  Updated all;
  all.weight = &context.lowering->model->weights.at(weight->index);
  all.n =
      std::min(weight->bytes / size_of(weight->type), gradient->bytes / size_of(gradient->type));
  all.master = {weight->data, weight->type};
  all.gradient = {gradient->data, gradient->type};
  if (const RawOperand* own = kernel.find(Role::master)) {
    all.narrow = all.master;
    all.master = {own->data, own->type};
  }
  all.states = kernel.find(Role::states);
  all.momentum = kernel.find(Role::momentum);
  all.variance = kernel.find(Role::variance);
  all.workspace = kernel.find(Role::workspace);
  return all;
}

/// The step of an optimizer with at most a momentum.
void update_with_momentum(Primitives& device, const WorkContext& context,
                          const strategies::StepNumbers& at, const Updated& all) {
  const AdamNumbers numbers = adam_numbers(*context.scenario, at);
  const RawOperand* const kept = all.first_state();
  if (!kept)
    return device.sgd({all.master, all.gradient, all.narrow, all.n},
                      {numbers.learning_rate, numbers.weight_decay, numbers.inverse_scale});
  device.momentum_step({all.master, {kept->data, kept->type}, all.gradient, all.narrow, all.n},
                       momentum_numbers(*context.scenario, at));
}

/// Momentum and variance lie in 8 bits, as two operands or one behind the other.
void update_in_8_bits(Primitives& device, const Updated& all, const AdamNumbers& numbers) {
  const RawOperand& first = *all.first_state();
  const std::uint64_t bytes = all.variance ? first.bytes : first.bytes / 2;
  const std::uint64_t n = PackedState::numbers(bytes);
  ENSURE(n <= all.n, "states in 8 bits of more numbers than their weight has");
  const PackedState momentum{first.data, n, true};
  const PackedState variance{all.variance ? all.variance->data : first.data + bytes, n, false};
  device.adam_in_8_bits({all.master, momentum, variance, all.gradient, all.narrow, n}, numbers);
}

void update_by_adam(Primitives& device, const Updated& all, const AdamNumbers& numbers) {
  const RawOperand* const first = all.first_state();
  ENSURE(first, "Adam without states");
  if (first->packed) return update_in_8_bits(device, all, numbers);
  const Array momentum{first->data, first->type};
  const Array variance = all.variance
                             ? Array{all.variance->data, all.variance->type}
                             : Array{first->data + all.n * size_of(first->type), first->type};
  device.adam({all.master, momentum, variance, all.gradient, all.narrow, all.n}, numbers);
}

/// `n` elements of its matrices, all or a part of them.
MuonShape muon_shape(const models::WeightTensor& weight, std::uint64_t n) {
  MuonShape shape;
  shape.inputs_first = weight.inputs_first;
  shape.rows = weight.inputs_first ? weight.inputs() : weight.outputs();
  shape.columns = weight.inputs_first ? weight.outputs() : weight.inputs();
  shape.count = n / shape.each();
  return shape;
}

MuonNumbers muon_numbers(const AdamNumbers& numbers) {
  MuonNumbers step;
  step.learning_rate = numbers.learning_rate;
  step.weight_decay = numbers.weight_decay;
  step.inverse_scale = numbers.inverse_scale;
  return step;
}

void update_by_muon(Primitives& device, const Updated& all, const AdamNumbers& numbers) {
  const RawOperand* const momentum = all.first_state();
  ENSURE(momentum && all.workspace, "Muon without momentum or workspace");
  const MuonShape shape = muon_shape(*all.weight, all.n);
  MuonArrays arrays;
  arrays.master = all.master;
  arrays.momentum = {momentum->data, momentum->type};
  arrays.gradient = all.gradient;
  arrays.weight = all.narrow;
  arrays.inputs_first = shape.inputs_first;
  arrays.rows = shape.rows;
  arrays.columns = shape.columns;
  arrays.count = shape.count;
  arrays.workspace = all.workspace->data;
  muon_step(device, arrays, muon_numbers(numbers));
}

/// Each matrix of a tensor by itself; what is no matrix has a variance of its own for each element.
void update_by_adafactor(Primitives& device, const Updated& all, const AdamNumbers& numbers,
                         std::uint64_t step) {
  const RawOperand* const averages = all.variance ? all.variance : all.states;
  ENSURE(averages && averages->type == Element::fp32, "Adafactor without averages");
  auto* const floats = reinterpret_cast<float*>(averages->data);
  const models::WeightTensor& weight = *all.weight;
  const bool factored = weight.decays();
  const std::uint64_t rows = factored ? weight.shape[weight.shape.size() - 2] : 1;
  const std::uint64_t columns = factored ? weight.shape.back() : weight.parameters.value();
  const std::uint64_t count = factored ? all.n / (rows * columns) : 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = i * rows * columns;
    const auto from = [at](const Array& of) {
      return Array{of.data + at * size_of(of.type), of.type};
    };
    AdafactorArrays arrays;
    arrays.master = from(all.master);
    arrays.gradient = {all.gradient.data + at * size_of(all.gradient.type), all.gradient.type};
    if (all.narrow) arrays.weight = from(*all.narrow);
    arrays.rows = rows;
    arrays.columns = columns;
    if (factored) {
      arrays.row_means = floats + i * rows;
      arrays.column_means = floats + count * rows + i * columns;
    } else {
      arrays.squares = floats;
    }
    device.adafactor(arrays, adafactor_scalars(numbers.learning_rate, numbers.weight_decay,
                                               numbers.inverse_scale, step));
  }
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

}  // namespace

void update(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel) {
  using description::OptimizerKind;
  const Updated all = updated_by(context, kernel);
  const AdamNumbers numbers = adam_numbers(*context.scenario, kernel.numbers);
  const OptimizerKind optimizer = context.scenario->training.optimizer;
  const bool muon = optimizer == OptimizerKind::muon;
  if (muon && all.weight->multiplies_in_block()) return update_by_muon(device, all, numbers);
  if (muon || description::is_adam(optimizer)) return update_by_adam(device, all, numbers);
  if (optimizer == OptimizerKind::adafactor)
    return update_by_adafactor(device, all, numbers, kernel.numbers.update);
  update_with_momentum(device, context, kernel.numbers, all);
}

void part_of_update(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel) {
  AdamPartArrays arrays;
  const auto take = [&](Role role, auto& into) {
    const RawOperand* operand = kernel.find(role);
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

/// What is sent lies in bf16, this rank's share from `first_element` on.
void part_of_muon(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel) {
  using strategies::MuonPart;
  const RawOperand* const gradient = kernel.find(Role::gradient);
  const RawOperand* const momentum = kernel.find(Role::states);
  const RawOperand* const output = kernel.find(Role::output);
  const RawOperand* const input = kernel.find(Role::input);
  const RawOperand* const workspace = kernel.find(Role::workspace);
  const RawOperand* const weight = kernel.find(Role::weight);
  const MuonNumbers numbers = muon_numbers(adam_numbers(*context.scenario, kernel.numbers));
  const std::uint64_t first = kernel.first_element * size_of(Element::bf16);
  const auto shape = [&](const RawOperand& of) {
    const models::WeightTensor& matrix = context.lowering->model->weights.at(of.index);
    return muon_shape(matrix, context.part_of(of.index).slice.elements);
  };
  switch (kernel.muon) {
    case MuonPart::momentum:
      ENSURE(gradient && momentum && output, "a momentum that lacks an operand");
      return muon_momentum(device,
                           std::min(gradient->bytes / size_of(gradient->type),
                                    momentum->bytes / size_of(momentum->type)),
                           {momentum->data, momentum->type}, {gradient->data, gradient->type},
                           output->data + first, numbers);
    case MuonPart::orthogonalize:
      ENSURE(output && workspace, "products that lack an operand");
      return muon_products(device, shape(*output), output->data, workspace->data);
    case MuonPart::apply: {
      ENSURE(weight && input, "a direction that lacks an operand");
      const RawOperand* const own = kernel.find(Role::master);
      const Array narrow{weight->data, weight->type};
      const Array master = own ? Array{own->data, own->type} : narrow;
      return muon_apply(device, weight->bytes / size_of(weight->type), shape(*weight), master,
                        input->data + first, own ? std::optional(narrow) : std::nullopt, numbers);
    }
  }
}

MomentumNumbers momentum_numbers(const description::Scenario& scenario,
                                 const strategies::StepNumbers& numbers) {
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
                         const strategies::StepNumbers& numbers) {
  AdamNumbers adam;
  adam.learning_rate = scenario.training.learning_rate;
  adam.inverse_scale = numbers.inverse_scale;
  return at_step(adam, numbers.update);
}

}  // namespace spillway::hw_backend
