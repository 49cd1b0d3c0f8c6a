#include "models/program/operators.hpp"
#include "models/program/tile_arrays.hpp"

#include <algorithm>

namespace spillway::models {

namespace {

void append(std::vector<Operand>& operands, const std::vector<std::uint32_t>& weights) {
  for (const std::uint32_t weight : weights) operands.push_back({weight, Access::read});
}

void append(std::vector<Operand>& operands, const std::vector<Value>& values, Access access) {
  for (const Value& value : values) operands.push_back({value.tensor, access});
}

/// The norms of the rows of W + scale B A of each matrix W, which no gradient goes through.
TensorId weight_norms(Tape& tape, const std::string& name, const AdaptedProduct& product) {
  std::uint64_t rows = 0;
  for (const std::uint32_t matrix : product.weights.matrices)
    rows += tape.model().weights[matrix].outputs();
  const TensorId norms = tape.tensor(name + ".weight_norms", rows, 4);
  std::vector<Operand> operands;
  append(operands, product.weights.matrices);
  append(operands, product.adapters.down.matrices);
  append(operands, product.adapters.up.matrices);
  operands.push_back({norms, Access::write});
  Operator& op =
      tape.add(name + ".weight_norms", OperatorFunction::weight_norms, std::move(operands));
  for (const Linear* read : {&product.weights, &product.adapters.down, &product.adapters.up})
    if (!tape.in_fp8(read->matrices.front()))  // whose norms are those of what it was made of
      add_copies(tape, op, *read);
  Bytes scratch;
  for (const std::uint32_t matrix : product.weights.matrices) {
    const NormCost cost = norm_cost(tape.model(), tape.tensors(), tape.element(), matrix,
                                    product.adapters.down.matrices.front());
    scratch = std::max(scratch, cost.scratch);
    op.bytes += cost.moved;
    op.flops += cost.flops;
  }
  op.workspace += scratch;
  return norms;
}

}  // namespace

void rescale(Tape& tape, const std::string& name, const AdaptedProduct& product,
             const std::vector<Value>& added, const std::vector<Value>& outputs) {
  const TensorId norms = weight_norms(tape, name, product);
  const std::vector<std::uint32_t>& magnitudes = product.adapters.magnitudes.matrices;
  std::vector<Operand> operands;
  append(operands, product.outputs, Access::read);
  append(operands, added, Access::read);
  append(operands, product.weights.biases);
  append(operands, magnitudes);
  operands.push_back({norms, Access::read});
  append(operands, outputs, Access::write);
  std::vector<TensorId> saved{norms};
  for (const std::vector<Value>* values : {&product.outputs, &added})
    for (const Value& value : *values) saved.push_back(value.tensor);
  tape.add(name + ".magnitude", OperatorFunction::magnitude, std::move(operands), std::move(saved));
  tape.on_backward([&tape, name, product, added, outputs, norms] {
    const std::vector<std::uint32_t>& weights = product.adapters.magnitudes.matrices;
    std::vector<Operand> back;
    for (const Value& output : outputs) back.push_back(tape.gradient(output));
    append(back, product.outputs, Access::read);
    append(back, added, Access::read);
    append(back, product.weights.biases);
    append(back, weights);
    back.push_back({norms, Access::read});
    for (const std::uint32_t weight : weights) back.push_back(tape.weight_gradient(weight));
    for (const Value& value : product.outputs) tape.accumulate(back, value);
    tape.add(name + ".magnitude.backward", OperatorFunction::magnitude_backward, std::move(back));
    // what comes to the sum of the product and its adapter comes to both
    for (std::size_t i = 0; i < outputs.size(); ++i)
      tape.pass_gradient(product.outputs[i], added[i]);
  });
}

}  // namespace spillway::models
