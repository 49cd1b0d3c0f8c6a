#include "hw_backend/arithmetic/operands.hpp"

#include <algorithm>

namespace spillway::hw_backend {

namespace {

/// The head's product and its loss for some tokens at a time, as many as the workspace has room
/// for: logits in fp32, and behind them their gradient in the element type.
struct Chunks {
  Chunks(const Call& loss_call, const Operand& hidden, const Operand& matrix)
      : call(loss_call),
        width(matrix.weight->shape[1]),
        vocabulary(matrix.weight->shape[0]),
        at_once(call.op.workspace.value() / (vocabulary * (4 + size_of(hidden.type)))),
        logits{call.workspace, Element::fp32, false},
        gradient{call.workspace + at_once * vocabulary * 4, hidden.type, false} {}

  /// Calls work(loss of the chunk) when its logits are there.
  template <class Work>
  void for_each(const Operand& hidden, const Operand& matrix, const Work& work) const {
    CrossEntropy part{call.text(), 0, 0, vocabulary, call.tokens()};
    for (; part.first_row < call.tokens(); part.first_row += part.rows) {
      part.rows = std::min(at_once, call.tokens() - part.first_row);
      Product product{part.rows, vocabulary, width};
      product.a = {from(hidden.read(), part.first_row * width), width};
      product.b = {matrix.read(), width, true};
      product.c = {logits, vocabulary};
      call.device.product(product);
      work(part);
    }
  }

  const Call& call;
  std::uint64_t width, vocabulary, at_once;
  Output logits, gradient;
};

float gradient_scale(const Call& call) {
  return call.moment.loss_scale / static_cast<float>(call.tokens());
}

}  // namespace

void fused_loss(const Call& call) {
  OperandReader operands(call);
  const Operand hidden = operands.take(), matrix = operands.take();
  const Chunks chunks(call, hidden, matrix);
  chunks.for_each(hidden, matrix, [&](const CrossEntropy& part) {
    call.device.cross_entropy(part, chunks.logits.read(), call.loss);
  });
}

void fused_loss_backward(const Call& call) {
  OperandReader operands(call);
  const Operand hidden = operands.take(), matrix = operands.take();
  const Operand matrix_gradient = operands.take(), hidden_gradient = operands.take();
  const Chunks chunks(call, hidden, matrix);
  Output sum = matrix_gradient.write();
  chunks.for_each(hidden, matrix, [&](const CrossEntropy& part) {
    call.device.softmax({part.rows, part.width, false, 1}, chunks.logits.read(), chunks.logits);
    call.device.cross_entropy_backward(part, chunks.logits.read(), gradient_scale(call),
                                       chunks.gradient);
    const std::uint64_t first = part.first_row * chunks.width;
    Product to_hidden{part.rows, chunks.width, chunks.vocabulary};
    to_hidden.a = {chunks.gradient.read(), chunks.vocabulary};
    to_hidden.b = {matrix.read(), chunks.width};
    to_hidden.c = {from(hidden_gradient.write(), first), chunks.width};
    call.device.product(to_hidden);
    if (!matrix_gradient.data) return;
    Product to_matrix{chunks.vocabulary, chunks.width, part.rows};
    to_matrix.a = {chunks.gradient.read(), chunks.vocabulary, true};
    to_matrix.b = {from(hidden.read(), first), chunks.width};
    to_matrix.c = {sum, chunks.width};
    call.device.product(to_matrix);
    sum.add = true;
  });
}

void chunked_loss(const Call& call) {
  OperandReader operands(call);
  const Operand logits = operands.take();
  const std::uint64_t vocabulary = logits.elements / call.tokens();
  call.device.cross_entropy({call.text(), 0, call.tokens(), vocabulary, call.tokens()},
                            logits.read(), call.loss);
}

/// The workspace has room for a softmax in fp32 of some tokens.
void chunked_loss_backward(const Call& call) {
  OperandReader operands(call);
  const Operand logits = operands.take();
  const std::uint64_t vocabulary = logits.elements / call.tokens();
  const std::uint64_t at_once = call.op.workspace.value() / (vocabulary * 4);
  const Output softmax{call.workspace, Element::fp32, false};
  CrossEntropy part{call.text(), 0, 0, vocabulary, call.tokens()};
  for (; part.first_row < call.tokens(); part.first_row += part.rows) {
    part.rows = std::min(at_once, call.tokens() - part.first_row);
    const std::uint64_t first = part.first_row * vocabulary;
    call.device.softmax({part.rows, vocabulary, false, 1}, from(logits.read(), first), softmax);
    call.device.cross_entropy_backward(part, softmax.read(), gradient_scale(call),
                                       from(logits.replace(), first));
  }
}

void whole_loss(const Call& call) {
  OperandReader operands(call);
  const Operand logits = operands.take(), softmax = operands.take();
  const std::uint64_t vocabulary = logits.elements / call.tokens();
  call.device.softmax({call.tokens(), vocabulary, false, 1}, logits.read(), softmax.write());
  call.device.cross_entropy({call.text(), 0, call.tokens(), vocabulary, call.tokens()},
                            logits.read(), call.loss);
}

void whole_loss_backward(const Call& call) {
  OperandReader operands(call);
  const Operand softmax = operands.take(), logits = operands.take();
  const std::uint64_t vocabulary = logits.elements / call.tokens();
  call.device.cross_entropy_backward({call.text(), 0, call.tokens(), vocabulary, call.tokens()},
                                     softmax.read(), gradient_scale(call), logits.replace());
}

}  // namespace spillway::hw_backend
