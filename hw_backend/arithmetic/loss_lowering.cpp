#include "hw_backend/arithmetic/operands.hpp"

#include <algorithm>

namespace spillway::hw_backend {

namespace {

CrossEntropy loss_of(const Call& call, std::uint64_t rows, std::uint64_t vocabulary) {
  return {call.text(), 0, rows, vocabulary, call.tokens(), call.words()};
}

Softmax softmax_of(const CrossEntropy& part) {
  return {part.rows, part.width, false, 1, part.words.count};
}

/// The loss, or what it will be made of.
void report(const Call& call, const CrossEntropy& part, Input logits, const Operand& statistics) {
  if (statistics.data)
    call.device.cross_entropy_statistics(part, logits, statistics.floats());
  else
    call.device.cross_entropy(part, logits, call.loss);
}

/// Where tensor ranks share the words: the operand that only then is there.
Operand take_of_words(const Call& call, OperandReader& operands) {
  return call.workload().tensor > 1 ? operands.take() : Operand();
}

/// The head's product and its loss for some tokens at a time, as many as the workspace has room
/// for: logits in fp32, and behind them their gradient in the element type.
struct Chunks {
  Chunks(const Call& loss_call, const Operand& hidden, const Operand& matrix)
      : call(loss_call),
        width(matrix.weight->shape[1]),
        vocabulary(matrix.elements / width),
        at_once(call.op.workspace.value() / (vocabulary * (4 + size_of(hidden.type)))),
        logits{call.workspace, Element::fp32, false},
        gradient{call.workspace + at_once * vocabulary * 4, hidden.type, false} {}

  /// Calls work(loss of the chunk) when its logits are there.
  template <class Work>
  void for_each(const Operand& hidden, const Operand& matrix, const Work& work) const {
    CrossEntropy part = loss_of(call, 0, vocabulary);
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
  const Operand statistics = take_of_words(call, operands);
  const Chunks chunks(call, hidden, matrix);
  chunks.for_each(hidden, matrix, [&](const CrossEntropy& part) {
    report(call, part, chunks.logits.read(), statistics);
  });
}

void fused_loss_backward(const Call& call) {
  OperandReader operands(call);
  const Operand hidden = operands.take(), matrix = operands.take();
  const Operand shares = take_of_words(call, operands);
  const Operand matrix_gradient = operands.take(), hidden_gradient = operands.take();
  const Chunks chunks(call, hidden, matrix);
  Output sum = matrix_gradient.write();
  chunks.for_each(hidden, matrix, [&](CrossEntropy part) {
    part.shares = shares.floats();
    call.device.softmax(softmax_of(part), chunks.logits.read(), chunks.logits);
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
  const Operand logits = operands.take(), statistics = take_of_words(call, operands);
  const std::uint64_t vocabulary = logits.elements / call.tokens();
  report(call, loss_of(call, call.tokens(), vocabulary), logits.read(), statistics);
}

/// The workspace has room for a softmax in fp32 of some tokens.
void chunked_loss_backward(const Call& call) {
  OperandReader operands(call);
  const Operand shares = take_of_words(call, operands), logits = operands.take();
  const std::uint64_t vocabulary = logits.elements / call.tokens();
  const std::uint64_t at_once = call.op.workspace.value() / (vocabulary * 4);
  const Output softmax{call.workspace, Element::fp32, false};
  CrossEntropy part = loss_of(call, 0, vocabulary);
  part.shares = shares.floats();
  for (; part.first_row < call.tokens(); part.first_row += part.rows) {
    part.rows = std::min(at_once, call.tokens() - part.first_row);
    const std::uint64_t first = part.first_row * vocabulary;
    call.device.softmax(softmax_of(part), from(logits.read(), first), softmax);
    call.device.cross_entropy_backward(part, softmax.read(), gradient_scale(call),
                                       from(logits.replace(), first));
  }
}

void whole_loss(const Call& call) {
  OperandReader operands(call);
  const Operand logits = operands.take(), softmax = operands.take();
  const Operand statistics = take_of_words(call, operands);
  const CrossEntropy all = loss_of(call, call.tokens(), logits.elements / call.tokens());
  call.device.softmax(softmax_of(all), logits.read(), softmax.write());
  report(call, all, logits.read(), statistics);
}

void whole_loss_backward(const Call& call) {
  OperandReader operands(call);
  const Operand softmax = operands.take(), shares = take_of_words(call, operands);
  const Operand logits = operands.take();
  CrossEntropy all = loss_of(call, call.tokens(), logits.elements / call.tokens());
  all.shares = shares.floats();
  call.device.cross_entropy_backward(all, softmax.read(), gradient_scale(call), logits.replace());
}

void joined_loss(const Call& call) {
  OperandReader operands(call);
  const Operand statistics = operands.take(), shares = operands.take();
  call.device.join_losses({call.tokens(), call.workload().tensor, call.moment.tensor},
                          statistics.floats(), shares.floats(), call.loss);
}

}  // namespace spillway::hw_backend
