#include "models/operators.hpp"

namespace spillway::models {

namespace {

/// product = silu(gate) * up in one kernel each way: silu(gate) is computed again, and the
/// gradients take the place of gate and up.
///   Source  Liger Kernel, ops/swiglu.py
Value fused_gated_product(Tape& tape, Value gate, Value up) {
  const Value product = tape.value("ffn.product", tape.elements(gate));
  tape.add(
      "ffn.product", OperatorFunction::gated_product,
      {{gate.tensor, Access::read}, {up.tensor, Access::read}, {product.tensor, Access::write}},
      {gate.tensor, up.tensor});
  tape.on_backward([&tape, gate, up, product] {
    std::vector<Operand> back{tape.gradient(product)};
    tape.replace_by_gradient(back, gate);
    tape.replace_by_gradient(back, up);
    tape.add("ffn.product.backward", OperatorFunction::gated_product_backward, std::move(back));
  });
  return product;
}

/// product = silu(gate) * up; saves gate, up and silu(gate), as an unfused implementation does.
Value gated_product(Tape& tape, Value gate, Value up) {
  if (tape.workload().fused_kernels) return fused_gated_product(tape, gate, up);
  const TensorId silu = tape.tensor("ffn.activated_gate", tape.elements(gate), tape.element());
  const Value product = tape.value("ffn.product", tape.elements(gate));
  const std::vector<TensorId> saved{gate.tensor, up.tensor, silu};
  tape.add("ffn.product", OperatorFunction::gated_product,
           {{gate.tensor, Access::read},
            {up.tensor, Access::read},
            {silu, Access::write},
            {product.tensor, Access::write}},
           saved);
  tape.on_backward([&tape, gate, up, product, saved] {
    std::vector<Operand> back{tape.gradient(product)};
    for (const TensorId tensor : saved) back.push_back({tensor, Access::read});
    tape.accumulate(back, gate);
    tape.accumulate(back, up);
    tape.add("ffn.product.backward", OperatorFunction::gated_product_backward, std::move(back));
  });
  return product;
}

/// The matrices of one feed-forward, or of all experts at once, over `rows` token copies.
Value matrices(Tape& tape, const LayerWeights& weights, Value x, std::uint64_t rows) {
  const Architecture& a = tape.architecture();
  const std::uint64_t width = tape.split(a.ffn);
  const Value up = tape.value("ffn.up", rows * width);
  Value inner;
  if (a.gated_ffn) {
    const Value gate = tape.value("ffn.gate", rows * width);
    matmul(tape, "ffn.gate", x, weights.group(WeightKind::ffn_gate), rows, a.hidden, {gate});
    matmul(tape, "ffn.up", x, weights.group(WeightKind::ffn_up), rows, a.hidden, {up});
    inner = gated_product(tape, gate, up);
  } else {
    matmul(tape, "ffn.up", x, weights.group(WeightKind::ffn_up), rows, a.hidden, {up});
    inner = tape.value("ffn.activation", rows * width);
    elementwise(tape, "ffn.activation",
                {OperatorFunction::activation, OperatorFunction::activation_backward}, {up},
                {inner}, {up.tensor});
  }
  const Value output = tape.value("ffn.down", rows * a.hidden);
  matmul(tape, "ffn.down", inner, weights.group(WeightKind::ffn_down), rows, width, {output});
  return output;
}

/// Experts: a router, copies of each token for its experts, their sum by the router's weights.
Value experts(Tape& tape, const LayerWeights& weights, Value x) {
  const Architecture& a = tape.architecture();
  const std::uint64_t rows = tape.tokens() * a.experts_per_token;
  const Value logits = tape.value("router.logits", tape.tokens() * a.experts);
  matmul(tape, "router", x, weights.of(WeightKind::router).front(), tape.tokens(), a.hidden,
         {logits});
  const Value shares = tape.value_of(tape.tensor("router.shares", rows, 4));
  const Value copies = tape.value("experts.input", rows * a.hidden);
  elementwise(tape, "experts.scatter",
              {OperatorFunction::scatter_experts, OperatorFunction::scatter_experts_backward},
              {x, logits}, {shares, copies}, {shares.tensor});
  const Value parts = matrices(tape, weights, copies, rows);
  const Value output = tape.value("experts.output", tape.tokens() * a.hidden);
  elementwise(tape, "experts.gather",
              {OperatorFunction::gather_experts, OperatorFunction::gather_experts_backward},
              {parts, shares}, {output}, {parts.tensor, shares.tensor});
  return output;
}

}  // namespace

Value feed_forward(Tape& tape, const LayerWeights& weights, Value x) {
  const Value input = enter_split(tape, x);
  const Value output = weights.has(WeightKind::router)
                           ? experts(tape, weights, input)
                           : matrices(tape, weights, input, tape.tokens());
  leave_split(tape, output);
  return output;
}

}  // namespace spillway::models
