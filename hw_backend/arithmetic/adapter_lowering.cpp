#include "hw_backend/arithmetic/linear.hpp"

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

Rescaling take_rescaling(const Call& call, OperandReader& operands) {
  Rescaling of{call.tokens()};
  if (operands.bias_next()) of.bias = operands.take();
  of.magnitudes = operands.take();
  of.norms = operands.take().floats();
  return of;
}

}  // namespace

Rescale rescale_of(const Rescaling& of, const Operand& product, const Operand& added,
                   std::uint64_t first) {
  Rescale rescale;
  rescale.rows = of.rows;
  rescale.width = product.elements / of.rows;
  rescale.product = product.read();
  rescale.added = added.read();
  if (of.bias.data) rescale.bias = from(of.bias.read(), first);
  rescale.magnitudes = from(of.magnitudes.read(), first);
  rescale.norms = of.norms + first;
  return rescale;
}

void take_norms(const Call& call, const Operand& matrix, const Operand& down, const Operand& up,
                float* norms) {
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
  call.device.row_norms(outputs, inputs, sum.read(), norms);
}

void weight_norms(const Call& call) {
  OperandReader operands(call);
  const Operand matrix = operands.take(), down = operands.take(), up = operands.take();
  take_norms(call, matrix, down, up, operands.take().floats());
}

void magnitude(const Call& call) {
  OperandReader operands(call);
  // products, as many of what is added and of outputs; a bias or none, magnitudes, norms
  const auto pairs = take_pairs(operands, (operands.left() - 2) / 3);
  const Rescaling of = take_rescaling(call, operands);
  std::uint64_t first = 0;
  for (const Rescaled& pair : pairs) {
    const Rescale rescale = rescale_of(of, pair.product, pair.added, first);
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
  const Rescaling of = take_rescaling(call, operands);
  const Operand of_magnitudes = operands.take();
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Rescale rescale = rescale_of(of, pairs[i].product, pairs[i].added, first);
    call.device.rescale_backward(rescale, gradients[i].read(), operands.take().write(),
                                 from(of_magnitudes.write(), first));
    first += rescale.width;
  }
}

}  // namespace spillway::hw_backend
