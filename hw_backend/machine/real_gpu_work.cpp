#include "hw_backend/machine/real_work.hpp"
#include "models/program/formats.hpp"
#include "strategies/layout/tensor_table.hpp"

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
  device.zero(operand.data, operand.bytes);
  for (const PackedShare& share : packed_shares(context, operand, kernel.first_element))
    device.initialize_packed(
        initial_rule(*lowering.model, operand.index), initial_stream(lowering.seed, operand.index),
        context.part_of(operand.index).slice, share.first, share.packing, share.data);
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

void sum(Primitives& device, const RawGpuKernel& kernel) {
  const RawOperand* into = kernel.find(Role::output);
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

/// A norm of gradients in three steps; nobody reads one that leaves no sum.
void norm(Primitives& device, const RawGpuKernel& kernel) {
  const RawOperand* from = kernel.find(Role::input);
  ENSURE(from, "a norm of nothing");
  const auto* const sums = reinterpret_cast<const float*>(from->data);
  if (kernel.work == GpuWork::root) {
    const RawOperand* into = kernel.find(Role::output);
    ENSURE(into, "a norm that goes nowhere");
    return device.root_of_squares(sums, reinterpret_cast<float*>(into->data));
  }
  const RawOperand* into = kernel.find(Role::squares);
  if (!into) return;
  auto* const sum = reinterpret_cast<float*>(into->data);
  if (kernel.work == GpuWork::add_norms)
    return device.add_squares(from->bytes / strategies::square_sum_bytes, sums, sum);
  device.sum_squares(from->bytes / size_of(from->type), from->input(), sum);
}

/// Adds up columns, chooses some, or moves those between their matrix and where they are packed.
void columns(Primitives& device, const RawGpuKernel& kernel) {
  const RawOperand* from = kernel.find(Role::input);
  const RawOperand* into = kernel.find(Role::output);
  const RawOperand* chosen = kernel.find(Role::indices);
  ENSURE(from, "columns of no matrix");
  ChosenColumns some{kernel.rows, kernel.columns};
  some.first = kernel.first_element;
  some.share = kernel.share;
  some.shares = kernel.shares;
  if (kernel.work == GpuWork::sum_columns) {
    ENSURE(into, "sums that go nowhere");
    return device.sum_columns(some, from->input(), reinterpret_cast<float*>(into->data));
  }
  ENSURE(chosen, "columns that nobody chose");
  auto* const indices = reinterpret_cast<std::uint32_t*>(chosen->data);
  some.count = chosen->bytes / sizeof *indices;
  some.indices = indices;
  if (kernel.work == GpuWork::choose_columns)
    return device.choose_columns(some, reinterpret_cast<const float*>(from->data), indices);
  ENSURE(into, "columns that go nowhere");
  const bool takes = kernel.work == GpuWork::take_columns;
  const RawOperand& packed = takes ? *into : *from;
  some.stride = packed.bytes / size_of(packed.type) / some.shares;
  if (takes)
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
  execute(device, *context.lowering, op, bound, workspace, context.moment_of(kernel.numbers), loss);
}

}  // namespace

std::vector<std::optional<PackedMatrix>> shared_matrices(const Lowering& lowering,
                                                         const description::Scenario& scenario) {
  const strategies::Partition partition = strategies::partition_of(scenario);
  if (partition.weight_ways() == 1) return {};
  const models::Formats formats(scenario.training);
  std::vector<std::optional<PackedMatrix>> all;
  for (std::uint32_t weight = 0; weight < lowering.model->weights.size(); ++weight) {
    std::optional<PackedMatrix>& matrix = all.emplace_back(packing_of(lowering, weight));
    if (!matrix) continue;
    const models::NumberFormat format = formats.numbers(lowering.model->weights[weight]);
    matrix->shares = partition.weight_ways();
    matrix->share.elements = strategies::share_of(matrix->elements, matrix->shares, format);
    matrix->stride = strategies::aligned_share(matrix->share.bytes());
  }
  return all;
}

std::vector<PackedShare> packed_shares(const WorkContext& context, const RawOperand& operand,
                                       std::uint64_t first_element) {
  const std::optional<PackedMatrix> matrix = packing_of(*context.lowering, operand.index);
  ENSURE(matrix && first_element % matrix->share.elements == 0,
         "a part of a share of packed numbers");
  std::vector<PackedShare> shares;
  const bool all = matrix->shares > 1 && operand.bytes >= matrix->shares * matrix->stride;
  for (std::uint64_t i = 0; i < (all ? matrix->shares : 1); ++i)
    shares.push_back({operand.data + i * matrix->stride, first_element + i * matrix->share.elements,
                      matrix->share});
  ENSURE(shares.back().data + matrix->share.bytes() <= operand.data + operand.bytes,
         "packed numbers in less memory than they have");
  return shares;
}

WorkContext::Part WorkContext::part_of(std::uint32_t weight) const {
  const models::Workload& workload = lowering->program->workload;
  const bool routed = lowering->model->weights.at(weight).routed;
  const std::uint64_t place = data_index * workload.context + share;
  return {slice_of(*lowering->model, workload, weight, tensor, place % workload.expert),
          routed ? workload.expert : 1};
}

Moment WorkContext::moment_of(const strategies::StepNumbers& numbers) const {
  return {numbers.step, static_cast<std::uint32_t>(numbers.micro_batch),
          data_index,   numbers.loss_scale,
          share,        tensor};
}

RawGpuKernel::RawGpuKernel(const strategies::GpuKernel& kernel)
    : operation(kernel.operation),
      work(kernel.work),
      part(kernel.part),
      muon(kernel.muon),
      numbers(kernel.numbers),
      value(kernel.value),
      first_element(kernel.first_element),
      rows(kernel.rows),
      columns(kernel.columns),
      share(kernel.share),
      shares(kernel.shares) {
  operands.reserve(kernel.operands.size());
  for (const strategies::BoundOperand& operand : kernel.operands) operands.emplace_back(operand);
}

void run_kernel(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel,
                double* loss) {
  switch (kernel.work) {
    case GpuWork::operation:
      return compute(device, context, kernel, loss);
    case GpuWork::sum:
      return sum(device, kernel);
    case GpuWork::norm:
    case GpuWork::add_norms:
    case GpuWork::root:
      return norm(device, kernel);
    case GpuWork::scale:
      for (const RawOperand& array : kernel.operands)
        device.scale({}, array.bytes / size_of(array.type), array.input(), array.output());
      return;
    case GpuWork::check: {
      const RawOperand* input = kernel.find(Role::input);
      const RawOperand* output = kernel.find(Role::output);
      ENSURE(input && output, "a check without operands");
      return device.check(input->bytes / size_of(input->type), input->input(),
                          reinterpret_cast<float*>(output->data));
    }
    case GpuWork::set: {
      const RawOperand* output = kernel.find(Role::output);
      ENSURE(output, "nothing to set");
      return device.set(kernel.value, reinterpret_cast<float*>(output->data));
    }
    case GpuWork::initialize:
      return first_values(device, context, kernel);
    case GpuWork::sum_columns:
    case GpuWork::choose_columns:
    case GpuWork::take_columns:
    case GpuWork::put_columns:
      return columns(device, kernel);
    case GpuWork::adam_part:
      return part_of_update(device, context, kernel);
    case GpuWork::muon_part:
      return part_of_muon(device, context, kernel);
  }
}

void go_through(Primitives& device, const Lowering& lowering) {
  const models::StepProgram& program = *lowering.program;
  // aligned as whatever begins in an arena is: products are planned by that, too
  auto* const nowhere = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 30);
  for (const models::Span& pass : {program.forward, program.backward})
    for (std::uint32_t i = pass.first; i < pass.last; ++i)
      for (const bool fresh : {true, false}) {
        const models::OperatorKind kind = program.operators[i].kind;
        if (models::is_collective(kind) || kind == models::OperatorKind::on_cpu) continue;
        std::vector<Bound> bound;
        for (const models::Operand& operand : program.operators[i].operands)
          bound.push_back({operand.tensor, nowhere, fresh});
        execute(device, lowering, program.operators[i], bound, nowhere, {},
                reinterpret_cast<double*>(nowhere));
      }
}

}  // namespace spillway::hw_backend
