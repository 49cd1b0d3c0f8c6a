#include "hw_backend/arithmetic/execute.hpp"

#include "hw_backend/arithmetic/operands.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

void norm(const Call& call) {
  OperandReader operands(call);
  const Operand x = operands.take(), weight = operands.take();
  const Operand bias = operands.bias_next() ? operands.take() : Operand();
  const Operand statistics = operands.take(), y = operands.take();
  call.device.norm(call.norm(x.elements, weight.elements), x.read(), weight.read(), bias.read(),
                   statistics.floats(), y.write());
  if (operands.left() == 0) return;
  // a norm that is no kernel of its own keeps its input in fp32, and what it normed in either type
  const Operand wide = operands.take();
  call.device.convert(x.elements, x.read(), wide.write());
  while (operands.left() > 0) {
    const Operand kept = operands.take();
    const Operand& from = kept.type == x.type ? x : wide;
    call.device.norm(call.norm(x.elements, weight.elements), from.read(), {}, {},
                     statistics.floats(), kept.write());
  }
}

void norm_backward(const Call& call) {
  OperandReader operands(call);
  const Operand y = operands.take(), x = operands.take(), statistics = operands.take();
  const Operand weight = operands.take(), weight_gradient = operands.take();
  const Operand bias = operands.bias_next() ? operands.take() : Operand();
  const Operand x_gradient = operands.take();
  call.device.norm_backward(call.norm(x.elements, weight.elements), y.read(), x.read(),
                            statistics.floats(), weight.read(), x_gradient.write(),
                            weight_gradient.write(), bias.write());
}

Embedding embedding_of(const Call& call, std::uint64_t elements) {
  const models::Architecture& a = call.architecture();
  return {call.text(),         call.tokens(),     elements / call.tokens(),
          a.learned_positions, a.position_offset, call.words()};
}

void embedding(const Call& call) {
  OperandReader operands(call);
  const Operand words = operands.take();
  const Operand positions = operands.left() > 1 ? operands.take() : Operand();
  const Operand hidden = operands.take();
  Embedding embedding = embedding_of(call, hidden.elements);
  if (call.moment.tensor > 0) embedding.positions = 0;  // of a sum, which has them once
  call.device.embed(embedding, words.read(), positions.read(), hidden.write());
}

void embedding_backward(const Call& call) {
  OperandReader operands(call);
  const Operand hidden = operands.take(), words = operands.take();
  const Operand positions = operands.left() > 0 ? operands.take() : Operand();
  call.device.embed_backward(embedding_of(call, hidden.elements), hidden.read(), words.write(),
                             positions.write());
}

/// Queries and keys; with latents the last elements of each query, and in place of keys what all
/// their heads share.
void rotation(const Call& call, bool back) {
  const models::Architecture& a = call.architecture();
  const bool latents = a.has_latents();
  OperandReader operands(call);
  Rotation rotation;
  rotation.rows = call.tokens();
  rotation.sequence = call.attended();
  rotation.heads = a.heads / call.workload().tensor;
  rotation.head_dim = a.head_dim;
  rotation.theta = a.rope_theta;
  rotation.back = back;
  rotation.rotated = a.rotated_dims;
  rotation.share = call.share();
  rotation.first = latents ? a.latent.unrotated : 0;
  call.device.rotate(rotation, operands.take().replace());
  rotation.heads = latents ? 1 : a.kv_heads / call.workload().tensor;
  rotation.head_dim = latents ? a.latent.rotated : a.head_dim;
  rotation.first = 0;
  call.device.rotate(rotation, operands.take().replace());
}

void activation(const Call& call) {
  OperandReader operands(call);
  const Operand x = operands.take(), y = operands.take();
  call.device.activate(call.architecture().activation, x.elements, x.read(), y.write());
}

void activation_backward(const Call& call) {
  OperandReader operands(call);
  const Operand y = operands.take(), x = operands.take(), x_gradient = operands.take();
  call.device.activate_backward(call.architecture().activation, x.elements, y.read(), x.read(),
                                x_gradient.write());
}

void gated_product(const Call& call) {
  OperandReader operands(call);
  const Operand gate = operands.take(), up = operands.take();
  const Operand activated = operands.left() > 1 ? operands.take() : Operand();
  const Operand y = operands.take();
  call.device.gated_product({call.architecture().activation, y.elements}, gate.read(), up.read(),
                            activated.write(), y.write());
}

void gated_product_backward(const Call& call) {
  OperandReader operands(call);
  const Operand y = operands.take(), gate = operands.take(), up = operands.take();
  const GatedProduct shape{call.architecture().activation, y.elements};
  if (operands.left() == 0)
    return call.device.gated_product_backward(shape, y.read(), gate.read(), up.read(), Input(),
                                              gate.replace(), up.replace());
  const Operand activated = operands.take();
  const Operand gate_gradient = operands.take(), up_gradient = operands.take();
  call.device.gated_product_backward(shape, y.read(), gate.read(), up.read(), activated.read(),
                                     gate_gradient.write(), up_gradient.write());
}

void residual(const Call& call) {
  OperandReader operands(call);
  const Operand x = operands.take(), f = operands.take();
  if (operands.left() == 1)
    return call.device.add(x.elements, x.read(), f.read(), operands.take().write());
  const Operand mask = operands.take(), y = operands.take();
  for (const Call::Run& run : call.runs(x.elements))
    call.device.drop(run.dropout, run.count, from(x.read(), run.at), from(f.read(), run.at),
                     mask.mask() + run.at, from(y.write(), run.at));
}

void residual_backward(const Call& call) {
  OperandReader operands(call);
  const Operand y = operands.take(), mask = operands.take(), f = operands.take();
  call.device.drop_backward(call.dropout(), y.elements, y.read(), mask.mask(), f.write());
}

void dropout(const Call& call) {
  OperandReader operands(call);
  const Operand x = operands.take(), mask = operands.take();
  for (const Call::Run& run : call.runs(x.elements))
    call.device.drop(run.dropout, run.count, Input(), from(x.read(), run.at), mask.mask() + run.at,
                     from(x.replace(), run.at));
}

void dropout_backward(const Call& call) {
  OperandReader operands(call);
  const Operand mask = operands.take(), x = operands.take();
  call.device.drop_backward(call.dropout(), x.elements, x.read(), mask.mask(), x.replace());
}

void adapter_sum(const Call& call) {
  OperandReader operands(call);
  const Operand y = operands.take(), added = operands.take();
  call.device.convert(y.elements, added.read(), y.write());
}

void gradient_sum(const Call& call) {
  OperandReader operands(call);
  const Operand one = operands.take(), sum = operands.take();
  call.device.convert(one.elements, one.read(), sum.write());
}

Lower position_lowering_of(models::OperatorFunction function) {
  using Function = models::OperatorFunction;
  switch (function) {
    case Function::rotation:
      return [](const Call& call) { rotation(call, false); };
    case Function::rotation_backward:
      return [](const Call& call) { rotation(call, true); };
    case Function::join_key:
      return join_key;
    case Function::join_key_backward:
      return join_key_backward;
    default:
      return lowering_of_experts(function);
  }
}

Lower loss_lowering_of(models::OperatorFunction function) {
  using Function = models::OperatorFunction;
  switch (function) {
    case Function::fused_loss:
      return fused_loss;
    case Function::fused_loss_backward:
      return fused_loss_backward;
    case Function::chunked_loss:
      return chunked_loss;
    case Function::chunked_loss_backward:
      return chunked_loss_backward;
    case Function::whole_loss:
      return whole_loss;
    case Function::whole_loss_backward:
      return whole_loss_backward;
    case Function::joined_loss:
      return joined_loss;
    default:
      return position_lowering_of(function);
  }
}

/// Null: nothing that a device computes.
Lower lowering_of(models::OperatorFunction function) {
  using Function = models::OperatorFunction;
  switch (function) {
    case Function::embedding:
      return embedding;
    case Function::embedding_backward:
      return embedding_backward;
    case Function::norm:
      return norm;
    case Function::norm_backward:
      return norm_backward;
    case Function::product:
      return product;
    case Function::product_input_gradient:
      return product_input_gradient;
    case Function::product_weight_gradient:
      return product_weight_gradient;
    case Function::attention:
      return attention;
    case Function::attention_backward:
      return attention_backward;
    case Function::attention_block:
      return attention_block;
    case Function::attention_block_backward:
      return attention_block_backward;
    case Function::activation:
      return activation;
    case Function::activation_backward:
      return activation_backward;
    case Function::tiled_feed_forward:
      return tiled_feed_forward;
    case Function::tiled_feed_forward_backward:
      return tiled_feed_forward_backward;
    case Function::gated_product:
      return gated_product;
    case Function::gated_product_backward:
      return gated_product_backward;
    case Function::residual:
      return residual;
    case Function::residual_backward:
      return residual_backward;
    case Function::dropout:
      return dropout;
    case Function::dropout_backward:
      return dropout_backward;
    case Function::adapter_sum:
      return adapter_sum;
    case Function::weight_norms:
      return weight_norms;
    case Function::magnitude:
      return magnitude;
    case Function::magnitude_backward:
      return magnitude_backward;
    case Function::gradient_sum:
      return gradient_sum;
    default:
      return loss_lowering_of(function);
  }
}

}  // namespace

void execute(Primitives& device, const Lowering& lowering, const models::Operator& op,
             std::span<const Bound> operands, std::byte* workspace, const Moment& moment,
             double* loss) {
  const Lower lower = lowering_of(op.function);
  ENSURE(lower, op.name + " is nothing that a device computes");
  const bool reports = op.function == models::OperatorFunction::fused_loss ||
                       op.function == models::OperatorFunction::chunked_loss ||
                       op.function == models::OperatorFunction::whole_loss ||
                       op.function == models::OperatorFunction::joined_loss;
  ENSURE(loss || !reports, op.name + " has nowhere to report the loss");
  ENSURE(workspace || op.workspace.value() == 0, op.name + " has no workspace");
  lower(Call{device, lowering, op, operands, workspace, moment, loss});
}

}  // namespace spillway::hw_backend
