#include "hw_backend/arithmetic/operands.hpp"

namespace spillway::hw_backend {

namespace {

/// Arrays one behind the other in an operator's workspace, each aligned as tensors are.
class Workspace {
 public:
  Workspace(std::byte* begin, Element type) : next_(begin), type_(type) {}
  Output take(std::uint64_t elements) {
    const Output taken{next_, type_, false};
    next_ += (elements * size_of(type_) + 63) / 64 * 64;
    return taken;
  }

 private:
  std::byte* next_;
  Element type_;
};

/// What `magnitude` and its backward have of one output of a product.
struct Rescaled {
  Operand product, added;
};

std::vector<Rescaled> take_pairs(OperandReader& operands, std::size_t count) {
  std::vector<Rescaled> pairs(count);
  for (Rescaled& pair : pairs) pair.product = operands.take();
  for (Rescaled& pair : pairs) pair.added = operands.take();
  return pairs;
}

/// Columns [first, first + width of the pair) of the module.
Rescale columns(const Call& call, const Rescaled& pair, std::uint64_t first, const Operand& bias,
                const Operand& magnitudes, const Operand& norms) {
  Rescale rescale;
  rescale.rows = call.tokens();
  rescale.width = pair.product.elements / call.tokens();
  rescale.product = pair.product.read();
  rescale.added = pair.added.read();
  if (bias.data) rescale.bias = from(bias.read(), first);
  rescale.magnitudes = from(magnitudes.read(), first);
  rescale.norms = norms.floats() + first;
  return rescale;
}

}  // namespace

void weight_norms(const Call& call) {
  OperandReader operands(call);
  const Operand matrix = operands.take(), down = operands.take(), up = operands.take();
  const Operand norms = operands.take();
  const std::uint64_t inputs = matrix.weight->inputs(), outputs = matrix.weight->outputs();
  const std::uint64_t rank = down.weight->outputs();
  Workspace workspace(call.workspace, matrix.type);
  const auto in_type = [&](const Operand& adapter) {
    if (adapter.type == matrix.type) return adapter.read();
    const Output copy = workspace.take(adapter.elements);
    call.device.convert(adapter.elements, adapter.read(), copy);
    return copy.read();
  };
  Output sum = workspace.take(matrix.elements);
  if (matrix.packing)
    unpack(call, matrix, sum);
  else
    call.device.convert(matrix.elements, matrix.read(), sum);
  sum.add = true;
  Product product{outputs, inputs, rank};
  product.a = {in_type(up), rank};
  product.b = {in_type(down), inputs};
  product.c = {sum, inputs};
  product.scale = static_cast<float>(call.workload().adapter_scale);
  call.device.product(product);
  call.device.row_norms(outputs, inputs, sum.read(), norms.floats());
}

void magnitude(const Call& call) {
  OperandReader operands(call);
  // products, as many of what is added and of outputs; a bias or none, magnitudes, norms
  const auto pairs = take_pairs(operands, (operands.left() - 2) / 3);
  const Operand bias = operands.bias_next() ? operands.take() : Operand();
  const Operand magnitudes = operands.take(), norms = operands.take();
  std::uint64_t first = 0;
  for (const Rescaled& pair : pairs) {
    const Rescale rescale = columns(call, pair, first, bias, magnitudes, norms);
    call.device.rescale(rescale, operands.take().write());
    first += rescale.width;
  }
}

void magnitude_backward(const Call& call) {
  OperandReader operands(call);
  const std::size_t count = (operands.left() - 3) / 4;
  std::vector<Operand> gradients(count);
  for (Operand& gradient : gradients) gradient = operands.take();
  const auto pairs = take_pairs(operands, count);
  const Operand bias = operands.bias_next() ? operands.take() : Operand();
  const Operand magnitudes = operands.take(), norms = operands.take();
  const Operand of_magnitudes = operands.take();
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Rescale rescale = columns(call, pairs[i], first, bias, magnitudes, norms);
    call.device.rescale_backward(rescale, gradients[i].read(), operands.take().write(),
                                 from(of_magnitudes.write(), first));
    first += rescale.width;
  }
}

}  // namespace spillway::hw_backend
