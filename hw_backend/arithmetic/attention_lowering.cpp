#include "hw_backend/arithmetic/operands.hpp"

namespace spillway::hw_backend {

namespace {

/// Heads whose products are one batch: all of a sample that read different keys, or those that
/// share one key head.
struct HeadGroup {
  std::uint64_t sample, head, kv_head, heads;
  bool one_kv_head;
};

template <class Work>
void for_groups(const AttentionShape& shape, const Work& work) {
  const std::uint64_t share = shape.heads / shape.kv_heads;
  for (std::uint64_t sample = 0; sample < shape.samples; ++sample) {
    if (share == 1) {
      work(HeadGroup{sample, 0, 0, shape.heads, false});
      continue;
    }
    for (std::uint64_t kv = 0; kv < shape.kv_heads; ++kv)
      work(HeadGroup{sample, kv * share, kv, share, true});
  }
}

/// Rows [samples x sequence, heads x elements] of queries or of keys.
struct HeadRows {
  Input values;
  std::uint64_t elements;  ///< of a head
};

/// The matrices of a group's heads.
MatrixInput heads_of(const AttentionShape& shape, const HeadGroup& group, const HeadRows& x,
                     bool transposed = false) {
  const std::uint64_t width = shape.heads * x.elements;
  return {from(x.values, group.sample * shape.sequence * width + group.head * x.elements), width,
          transposed, x.elements};
}

MatrixInput kv_heads_of(const AttentionShape& shape, const HeadGroup& group, const HeadRows& x,
                        bool transposed = false) {
  const std::uint64_t width = shape.kv_heads * x.elements;
  return {from(x.values, group.sample * shape.sequence * width + group.kv_head * x.elements), width,
          transposed, group.one_kv_head ? 0 : x.elements};
}

std::uint64_t first_score(const AttentionShape& shape, const HeadGroup& group) {
  return (group.sample * shape.heads + group.head) * shape.sequence * shape.sequence;
}

MatrixInput scores_of(const AttentionShape& shape, const HeadGroup& group, Input scores,
                      bool transposed = false) {
  return {from(scores, first_score(shape, group)), shape.sequence, transposed,
          shape.sequence * shape.sequence};
}

MatrixOutput output(const MatrixInput& at, Output whole, Input whole_read) {
  const auto offset = static_cast<std::uint64_t>(at.values.data - whole_read.data);
  return {{whole.data + offset, whole.type, whole.add}, at.stride, at.batch_stride};
}

/// scores = scale x a b^T, of rows of heads of as many elements.
void to_scores(const Call& call, const AttentionShape& shape, const HeadRows& a, const HeadRows& b,
               Output scores, float scale) {
  for_groups(shape, [&](const HeadGroup& group) {
    Product product{shape.sequence, shape.sequence, a.elements, group.heads};
    product.a = heads_of(shape, group, a);
    product.b = kv_heads_of(shape, group, b, true);
    product.c = output(scores_of(shape, group, scores.read()), scores, scores.read());
    product.scale = scale;
    call.device.product(product);
  });
}

/// y = scale x scores b: rows of queries.
void from_scores(const Call& call, const AttentionShape& shape, Input scores, const HeadRows& b,
                 Output y, float scale) {
  for_groups(shape, [&](const HeadGroup& group) {
    Product product{shape.sequence, b.elements, shape.sequence, group.heads};
    product.a = scores_of(shape, group, scores);
    product.b = kv_heads_of(shape, group, b);
    product.c = output(heads_of(shape, group, {y.read(), b.elements}), y, y.read());
    product.scale = scale;
    call.device.product(product);
  });
}

/// y = scale x scores^T a: rows of keys, summed over the heads that share them in their order.
void to_keys(const Call& call, const AttentionShape& shape, Input scores, const HeadRows& a,
             Output y, float scale) {
  for_groups(shape, [&](HeadGroup group) {
    const std::uint64_t steps = group.one_kv_head ? group.heads : 1;
    if (group.one_kv_head) group.heads = 1;
    Output into = y;
    for (std::uint64_t step = 0; step < steps; ++step, ++group.head, into.add = true) {
      Product product{shape.sequence, a.elements, shape.sequence, group.heads};
      product.a = scores_of(shape, group, scores, true);
      product.b = heads_of(shape, group, a);
      product.c = output(kv_heads_of(shape, group, {y.read(), a.elements}), into, y.read());
      product.scale = scale;
      call.device.product(product);
    }
  });
}

HeadRows keys_in(const AttentionShape& shape, const Operand& rows) {
  return {rows.read(), shape.head_dim};
}
HeadRows values_in(const AttentionShape& shape, const Operand& rows) {
  return {rows.read(), shape.value_elements()};
}

Softmax softmax_of(const AttentionShape& shape) {
  return {shape.samples * shape.heads * shape.sequence, shape.sequence, shape.causal,
          shape.sequence};
}

void materialized(const Call& call, const AttentionShape& shape, OperandReader& operands) {
  const Operand query = operands.take(), key = operands.take(), value = operands.take();
  const Operand y = operands.take(), softmax = operands.take();
  const Output scores{call.workspace, softmax.type, false};
  to_scores(call, shape, keys_in(shape, query), keys_in(shape, key), scores, shape.scale);
  call.device.softmax(softmax_of(shape), scores.read(), softmax.write());
  Operand weights = softmax;
  if (operands.left() > 0) {
    const Operand mask = operands.take();
    weights = operands.take();
    const std::uint64_t of_sample = softmax.elements / shape.samples;
    for (std::uint64_t sample = 0; sample < shape.samples; ++sample) {
      Dropout dropout = shape.dropout;
      dropout.first = shape.first_element(sample, 0, 0);
      const std::uint64_t at = sample * of_sample;
      call.device.drop(dropout, of_sample, Input(), from(softmax.read(), at), mask.mask() + at,
                       from(weights.write(), at));
    }
  }
  from_scores(call, shape, weights.read(), values_in(shape, value), y.write(), 1);
}

void materialized_backward(const Call& call, const AttentionShape& shape, OperandReader& operands) {
  const Operand y = operands.take(), query = operands.take(), key = operands.take();
  const Operand value = operands.take(), softmax = operands.take();
  const bool drops = operands.left() > 3;
  const Operand mask = drops ? operands.take() : Operand();
  const Operand weights = drops ? operands.take() : softmax;
  const Operand query_gradient = operands.take(), key_gradient = operands.take();
  const Operand value_gradient = operands.take();
  const Output score_gradients{call.workspace, softmax.type, false};
  const Output scores = from(score_gradients, softmax.elements);
  to_scores(call, shape, values_in(shape, y), values_in(shape, value), score_gradients, 1);
  if (drops)
    call.device.drop_backward(shape.dropout, softmax.elements, score_gradients.read(), mask.mask(),
                              score_gradients);
  call.device.softmax_backward(softmax_of(shape), score_gradients.read(), softmax.read(), scores);
  from_scores(call, shape, scores.read(), keys_in(shape, key), query_gradient.write(), shape.scale);
  to_keys(call, shape, scores.read(), keys_in(shape, query), key_gradient.write(), shape.scale);
  to_keys(call, shape, weights.read(), values_in(shape, y), value_gradient.write(), 1);
}

/// Of all heads that a tensor rank has, also where context ranks exchange them afterwards.
JoinedHeads joined_heads(const Call& call) {
  const models::Architecture& a = call.architecture();
  return {call.tokens(), a.heads / call.workload().tensor, a.latent.unrotated, a.latent.rotated};
}

}  // namespace

void join_key(const Call& call) {
  OperandReader operands(call);
  const Operand own = operands.take(), shared = operands.take(), keys = operands.take();
  call.device.join_heads(joined_heads(call), own.read(), shared.read(), keys.write());
}

void join_key_backward(const Call& call) {
  OperandReader operands(call);
  const Operand keys = operands.take(), own = operands.take(), shared = operands.take();
  call.device.join_heads_backward(joined_heads(call), keys.read(), own.write(), shared.write());
}

void attention(const Call& call) {
  const AttentionShape shape = call.attention_shape();
  OperandReader operands(call);
  if (call.workload().attention == models::Attention::materialized)
    return materialized(call, shape, operands);
  AttentionForward forward;
  forward.query = operands.take().read();
  forward.key = operands.take().read();
  forward.value = operands.take().read();
  forward.output = operands.take().write();
  forward.log_sum_exp = operands.take().floats();
  call.device.attention(shape, forward);
}

void attention_backward(const Call& call) {
  const AttentionShape shape = call.attention_shape();
  OperandReader operands(call);
  if (call.workload().attention == models::Attention::materialized)
    return materialized_backward(call, shape, operands);
  AttentionBackward backward;
  backward.output_gradient = operands.take().read();
  backward.query = operands.take().read();
  backward.key = operands.take().read();
  backward.value = operands.take().read();
  backward.output = operands.take().read();
  backward.log_sum_exp = operands.take().floats();
  backward.query_gradient = operands.take().write();
  backward.key_gradient = operands.take().write();
  backward.value_gradient = operands.take().write();
  backward.workspace = reinterpret_cast<float*>(call.workspace);
  call.device.attention_backward(shape, backward);
}

}  // namespace spillway::hw_backend
