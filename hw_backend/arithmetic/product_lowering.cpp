#include "hw_backend/arithmetic/linear.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

/// A weight matrix, cut along its outputs: columns [first, first + outputs) of what it computes.
struct Cut {
  std::uint64_t inputs, all_outputs, first, outputs;
  bool inputs_first;

  std::uint64_t stride() const { return inputs_first ? all_outputs : inputs; }
  std::uint64_t offset() const { return inputs_first ? first : first * inputs; }
};

Cut whole(const Call& call, const Operand& matrix) {
  const models::WeightTensor& weight = *matrix.weight;
  return {call.inputs_of(weight), call.outputs_of(weight), 0, 0, weight.inputs_first};
}

/// Rows [first, first + rows), which one matrix multiplies.
struct Group {
  std::uint64_t first, rows;
  std::size_t operand;   ///< that has the matrix
  std::uint64_t number;  ///< of the matrices in it
  bool begins = true;    ///< no group before it has the same matrix

  std::uint64_t matrix_offset(const Cut& cut) const {
    return number * cut.inputs * cut.all_outputs;
  }
  std::uint64_t bias_offset(const Cut& cut) const { return number * cut.all_outputs; }
};

/// The operands of a product, or of one of its gradients, by what they are.
struct Operands {
  std::vector<Operand> values;    ///< activations and their gradients, in order
  std::vector<Operand> matrices;  ///< or their gradients: one each, or all experts' in one
  std::vector<Operand> biases;

  Operands(const Linear& linear, std::vector<Operand> all)
      : values(std::move(all)), matrices{linear.matrix} {
    if (linear.bias) biases.push_back(*linear.bias);
  }
  explicit Operands(const Call& call) {
    OperandReader reader(call);
    while (reader.left() > 0) {
      const bool bias = reader.bias_next();
      const Operand operand = reader.take();
      (bias ? biases : operand.weight ? matrices : values).push_back(operand);
    }
  }
  const Operand* bias_of(const Group& group) const {
    return biases.empty() ? nullptr : &biases[group.operand];
  }
};

/// Rows of the input `x` of a product.
std::uint64_t rows_of(const Call& call, const Operands& operands, const Operand& x) {
  return x.elements / call.inputs_of(*operands.matrices.front().weight);
}

/// All rows by the one matrix; or those of each expert by its own. Of experts that ranks share, the
/// rows that came from each rank one after the other, in rank order; behind them, where this rank
/// is not the busiest, rows that nobody reads.
std::vector<Group> groups_of(const Call& call, const Operands& operands, std::uint64_t rows) {
  const bool stacked = operands.matrices.size() == 1;
  if (stacked && !operands.matrices.front().weight->routed) return {{0, rows, 0, 0}};
  const Routing routing = call.routing();
  const auto ranks = static_cast<std::uint32_t>(call.workload().expert);
  const auto context = static_cast<std::uint32_t>(call.workload().context);
  const std::uint32_t place = call.moment.rank * context + call.moment.share;
  const std::uint32_t own = routing.experts / ranks, begin = place % ranks * own;
  const std::uint32_t part = routing.first[begin + own] - routing.first[begin];
  ENSURE(rows >= std::uint64_t{part} * ranks, call.op.name + " has fewer rows than its experts");
  std::vector<Group> groups;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (std::uint32_t i = 0; i < own; ++i) {
      const std::uint32_t expert = begin + i, first = routing.first[expert];
      groups.push_back({rank * part + first - routing.first[begin],
                        routing.first[expert + 1] - first, stacked ? 0 : i,
                        stacked ? i : std::uint64_t{0}, rank == 0});
    }
  return groups;
}

/// The matrix of `group` as products read it: packed or of another type than what it multiplies, a
/// copy in the workspace, where the next group's takes its place.
Input multiplied(const Call& call, const Operand& matrix, const Group& group, const Cut& cut,
                 Element type) {
  const Output copy{call.workspace, type, false};
  if (matrix.packing) {
    unpack(call, matrix, copy);
    return copy.read();
  }
  const Input own = from(matrix.read(), group.matrix_offset(cut));
  if (matrix.type == type) return own;
  call.device.convert(cut.inputs * cut.all_outputs, own, copy);
  return copy.read();
}

/// What an adapter adds counts so many times: its first product does.
float scale_of(const Call& call, const Operand& matrix) {
  if (matrix.weight->kind != models::WeightKind::adapter_down) return 1;
  return static_cast<float>(call.workload().adapter_scale);
}

/// [rows, width] of a tensor as it lies.
MatrixInput dense(Input x, std::uint64_t width, bool transposed = false) {
  return {x, width, transposed, 0};
}

void multiply(const Call& call, const Operands& operands, const Group& group,
              std::uint64_t all_rows) {
  const Operand &x = operands.values.front(), &matrix = operands.matrices[group.operand];
  const Operand* const bias = call.adds_bias_of(*matrix.weight) ? operands.bias_of(group) : nullptr;
  Cut cut = whole(call, matrix);
  const Input values = multiplied(call, matrix, group, cut, x.type);
  for (std::size_t i = 1; i < operands.values.size(); ++i) {
    const Operand& y = operands.values[i];
    cut.outputs = y.elements / all_rows;
    const std::uint64_t place = group.first * cut.outputs;
    Product product{group.rows, cut.outputs, cut.inputs};
    product.a = dense(from(x.read(), group.first * cut.inputs), cut.inputs);
    product.b = dense(from(values, cut.offset()), cut.stride(), !cut.inputs_first);
    product.scale = scale_of(call, matrix);
    product.c = {from(y.write(), place), cut.outputs};
    call.device.product(product);
    if (bias)
      call.device.add_bias(group.rows, cut.outputs,
                           from(bias->read(), group.bias_offset(cut) + cut.first),
                           from(y.replace(), place));
    cut.first += cut.outputs;
  }
}

void gradient_of_input(const Call& call, const Operands& operands, const Group& group,
                       std::uint64_t all_rows) {
  const Operand &x = operands.values.back(), &matrix = operands.matrices[group.operand];
  Cut cut = whole(call, matrix);
  const Input values = multiplied(call, matrix, group, cut, x.type);
  Output into = from(x.write(), group.first * cut.inputs);
  for (std::size_t i = 0; i + 1 < operands.values.size(); ++i) {
    const Operand& gradient = operands.values[i];
    cut.outputs = gradient.elements / all_rows;
    Product product{group.rows, cut.inputs, cut.outputs};
    product.a = dense(from(gradient.read(), group.first * cut.outputs), cut.outputs);
    product.b = dense(from(values, cut.offset()), cut.stride(), cut.inputs_first);
    product.scale = scale_of(call, matrix);
    product.c = {into, cut.inputs};
    call.device.product(product);
    into.add = true;
    cut.first += cut.outputs;
  }
}

/// The part of `gradient` that is the group's expert's; later groups of the expert add to it.
Output grown(const Operand& gradient, const Group& group, std::uint64_t offset) {
  Output into = from(gradient.write(), offset);
  into.add = into.add || !group.begins;
  return into;
}

void set_zero(const Call& call, const Output& values, std::uint64_t elements) {
  if (!values.add) call.device.zero(values.data, elements * size_of(values.type));
}

void gradient_of_weight(const Call& call, const Operands& operands, const Group& group,
                        std::uint64_t all_rows) {
  const Operand &x = operands.values.back(), &weight = operands.matrices[group.operand];
  const Operand* const bias = operands.bias_of(group);
  Cut cut = whole(call, weight);
  const Output into = grown(weight, group, group.matrix_offset(cut));
  const Output bias_into = bias ? grown(*bias, group, group.bias_offset(cut)) : Output();
  if (group.rows == 0) {
    set_zero(call, into, cut.inputs * cut.all_outputs);
    if (bias) set_zero(call, bias_into, cut.all_outputs);
    return;
  }
  for (std::size_t i = 0; i + 1 < operands.values.size(); ++i) {
    const Operand& gradient = operands.values[i];
    cut.outputs = gradient.elements / all_rows;
    const Input of_group = from(gradient.read(), group.first * cut.outputs);
    const MatrixInput inputs =
        dense(from(x.read(), group.first * cut.inputs), cut.inputs, cut.inputs_first);
    const MatrixInput outputs = dense(of_group, cut.outputs, !cut.inputs_first);
    Product product{cut.outputs, cut.inputs, group.rows};
    if (cut.inputs_first) std::swap(product.rows, product.columns);
    product.a = cut.inputs_first ? inputs : outputs;
    product.b = cut.inputs_first ? outputs : inputs;
    product.c = {from(into, cut.offset()), cut.stride()};
    product.scale = scale_of(call, weight);
    call.device.product(product);
    if (bias) call.device.sum_rows(group.rows, cut.outputs, of_group, from(bias_into, cut.first));
    cut.first += cut.outputs;
  }
}

}  // namespace

void product(const Call& call) {
  const Operands operands(call);
  const std::uint64_t rows = rows_of(call, operands, operands.values.front());
  for (const Group& group : groups_of(call, operands, rows))
    if (group.rows > 0) multiply(call, operands, group, rows);
}

void product_input_gradient(const Call& call) {
  const Operands operands(call);
  const std::uint64_t rows = rows_of(call, operands, operands.values.back());
  for (const Group& group : groups_of(call, operands, rows))
    if (group.rows > 0) gradient_of_input(call, operands, group, rows);
}

void product_weight_gradient(const Call& call) {
  const Operands operands(call);
  const std::uint64_t rows = rows_of(call, operands, operands.values.back());
  for (const Group& group : groups_of(call, operands, rows))
    gradient_of_weight(call, operands, group, rows);
}

void multiply(const Call& call, const Linear& linear, const Operand& x,
              const std::vector<Operand>& outputs) {
  std::vector<Operand> values{x};
  values.insert(values.end(), outputs.begin(), outputs.end());
  multiply(call, Operands(linear, std::move(values)), {0, linear.rows, 0, 0}, linear.rows);
}

void multiply_back(const Call& call, const Linear& linear, const std::vector<Operand>& gradients,
                   const Operand& x) {
  std::vector<Operand> values = gradients;
  values.push_back(x);
  gradient_of_input(call, Operands(linear, std::move(values)), {0, linear.rows, 0, 0}, linear.rows);
}

void multiply_weights(const Call& call, const Linear& linear, const std::vector<Operand>& gradients,
                      const Operand& x, bool sums) {
  std::vector<Operand> values = gradients;
  values.push_back(x);
  gradient_of_weight(call, Operands(linear, std::move(values)), {0, linear.rows, 0, 0, !sums},
                     linear.rows);
}

}  // namespace spillway::hw_backend
