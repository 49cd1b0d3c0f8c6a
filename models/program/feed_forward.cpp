#include "models/program/operators.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::models {

Value fused_gated_product(Tape& tape, const std::string& prefix, Value gate, Value up) {
  const Value product = tape.value(prefix + ".product", tape.elements(gate));
  tape.add(
      prefix + ".product", OperatorFunction::gated_product,
      {{gate.tensor, Access::read}, {up.tensor, Access::read}, {product.tensor, Access::write}},
      {gate.tensor, up.tensor});
  tape.on_backward([&tape, prefix, gate, up, product] {
    std::vector<Operand> back{tape.gradient(product)};
    tape.replace_by_gradient(back, gate);
    tape.replace_by_gradient(back, up);
    tape.add(prefix + ".product.backward", OperatorFunction::gated_product_backward,
             std::move(back));
  });
  return product;
}

namespace {

/// product = silu(gate) * up; saves gate, up and silu(gate), as an unfused implementation does.
Value gated_product(Tape& tape, const std::string& prefix, Value gate, Value up) {
  if (tape.workload().fused_kernels) return fused_gated_product(tape, prefix, gate, up);
  const TensorId silu =
      tape.tensor(prefix + ".activated_gate", tape.elements(gate), tape.element());
  const Value product = tape.value(prefix + ".product", tape.elements(gate));
  const std::vector<TensorId> saved{gate.tensor, up.tensor, silu};
  tape.add(prefix + ".product", OperatorFunction::gated_product,
           {{gate.tensor, Access::read},
            {up.tensor, Access::read},
            {silu, Access::write},
            {product.tensor, Access::write}},
           saved);
  tape.on_backward([&tape, prefix, gate, up, product, saved] {
    std::vector<Operand> back{tape.gradient(product)};
    for (const TensorId tensor : saved) back.push_back({tensor, Access::read});
    tape.accumulate(back, gate);
    tape.accumulate(back, up);
    tape.add(prefix + ".product.backward", OperatorFunction::gated_product_backward,
             std::move(back));
  });
  return product;
}

/// One feed-forward, or all experts at once.
struct Matrices {
  std::string prefix;
  WeightKind gate, up, down;
  std::uint64_t rows = 0;   ///< token copies
  std::uint64_t width = 0;  ///< one rank's
  std::uint64_t batch = 0;  ///< matrices in one tensor; 0: one in each
  std::uint64_t outer = 0;  ///< what they read and write; 0: hidden states
};

Value multiply(Tape& tape, const LayerWeights& weights, const Matrices& m, Value x) {
  const Architecture& a = tape.architecture();
  const std::uint64_t outer = m.outer > 0 ? m.outer : a.hidden;
  const auto product = [&](const char* name, WeightKind kind, Value input, std::uint64_t inputs,
                           const std::vector<Value>& outputs) {
    matmul(tape, m.prefix + name, input, weights.group(kind), m.rows, inputs, outputs, m.batch);
  };
  const Value up = tape.value(m.prefix + ".up", m.rows * m.width);
  Value inner;
  if (a.gated_ffn) {
    const Value gate = tape.value(m.prefix + ".gate", m.rows * m.width);
    if (weights.has(m.gate)) {
      product(".gate", m.gate, x, outer, {gate});
      product(".up", m.up, x, outer, {up});
    } else {
      product(".gate_up", m.up, x, outer, {gate, up});
    }
    inner = gated_product(tape, m.prefix, gate, up);
  } else {
    product(".up", m.up, x, outer, {up});
    inner = tape.value(m.prefix + ".activation", m.rows * m.width);
    elementwise(tape, m.prefix + ".activation",
                {OperatorFunction::activation, OperatorFunction::activation_backward}, {up},
                {inner}, {up.tensor});
  }
  const Value output = tape.value(m.prefix + ".down", m.rows * outer);
  product(".down", m.down, inner, m.width, {output});
  return output;
}

/// The experts that every token uses, weighed by a gate where the type has one.
Value shared_experts(Tape& tape, const LayerWeights& weights, Value x) {
  const Architecture& a = tape.architecture();
  const Value output = multiply(tape, weights,
                                {"shared", WeightKind::shared_gate, WeightKind::shared_up,
                                 WeightKind::shared_down, tape.tokens(), tape.split(a.shared_ffn)},
                                x);
  if (!weights.has(WeightKind::shared_router)) return output;
  const Value share = tape.value("shared.share", tape.tokens());
  matmul(tape, "shared.share", x, weights.of(WeightKind::shared_router).front(), tape.tokens(),
         a.hidden, {share});
  const Value weighed = tape.value("shared.weighed", tape.elements(output));
  elementwise(tape, "shared.weighed",
              {OperatorFunction::weighing, OperatorFunction::weighing_backward}, {output, share},
              {weighed}, {output.tensor, share.tensor});
  return weighed;
}

/// What experts count, each by a factor of its own.
Value scaled_shares(Tape& tape, Value shares, std::uint32_t factors) {
  const Value scaled = tape.value_of(tape.tensor("router.scaled_shares", tape.elements(shares), 4));
  tape.add("router.scale", OperatorFunction::scale_shares,
           {{shares.tensor, Access::read}, {factors, Access::read}, {scaled.tensor, Access::write}},
           {shares.tensor});
  tape.on_backward([&tape, shares, scaled, factors] {
    std::vector<Operand> back{tape.gradient(scaled),
                              {shares.tensor, Access::read},
                              {factors, Access::read},
                              tape.weight_gradient(factors)};
    tape.accumulate(back, shares);
    tape.add("router.scale.backward", OperatorFunction::scale_shares_backward, std::move(back));
  });
  return scaled;
}

/// The router's choice: what each chosen expert counts, and a copy of the token for it. The way
/// back of a softmax of the chosen needs these shares alone, that of a softmax of all experts the
/// logits of those that were not chosen as well, that of sigmoids the logits of the chosen.
struct Routed {
  Value shares, copies;
};
Routed scatter(Tape& tape, const LayerWeights& weights, Value x, Value routed,
               std::uint64_t width) {
  const Architecture& a = tape.architecture();
  const std::uint64_t rows = tape.tokens() * a.experts_per_token;
  const bool copied = !tape.workload().experts_on_cpu;
  const Value logits = tape.value("router.logits", tape.tokens() * a.experts);
  if (a.router_scales)
    routed = norm(tape, "router.norm", routed, &weights.of(WeightKind::router_norm).front());
  matmul(tape, "router", routed, weights.of(WeightKind::router).front(), tape.tokens(), a.hidden,
         {logits});
  Routed r{tape.value_of(tape.tensor("router.shares", rows, 4)), {}};
  if (copied) r.copies = tape.value("experts.input", rows * width);
  std::vector<TensorId> saved{r.shares.tensor};
  if (keeps_logits(a.router_rule)) saved.push_back(logits.tensor);
  elementwise(tape, "experts.scatter",
              {OperatorFunction::scatter_experts, OperatorFunction::scatter_experts_backward},
              copied ? std::vector<Value>{x, logits} : std::vector<Value>{logits},
              copied ? std::vector<Value>{r.shares, r.copies} : std::vector<Value>{r.shares},
              std::move(saved));
  return r;
}

/// What each chosen expert counts, as the type has it.
Value shares_of(Tape& tape, const LayerWeights& weights, const Routed& routed) {
  if (!tape.architecture().router_scales) return routed.shares;
  return scaled_shares(tape, routed.shares,
                       weights.of(WeightKind::router_scale).front().matrices[0]);
}

/// What the experts of this rank are given: copies of tokens of the whole expert group, the
/// busiest of whose ranks this is.
std::uint64_t rows_here(const Tape& tape) {
  const std::vector<std::uint64_t>& parts = tape.to_expert_ranks();
  if (parts.empty()) return tape.tokens() * tape.architecture().experts_per_token;
  return *std::max_element(parts.begin(), parts.end()) * parts.size();
}

/// Each copy of a token to the rank that has its expert, through that expert, and back: two
/// all-to-alls forward and two backward.
///   Source  GShard (2020), 3.2; Megatron Core, MoEAlltoAllTokenDispatcher
Value through_experts(Tape& tape, const LayerWeights& weights, Value copies, std::uint64_t width) {
  const Architecture& a = tape.architecture();
  const std::uint64_t rows = rows_here(tape);
  const Value here = dispatch(tape, "experts.dispatch", copies, rows * width);
  const Value output =
      multiply(tape, weights,
               {"ffn", WeightKind::ffn_gate, WeightKind::ffn_up, WeightKind::ffn_down, rows,
                tape.split(a.expert_ffn), a.experts / tape.workload().expert, width},
               here);
  return combine(tape, "experts.combine", output, tape.elements(copies));
}

/// What a micro-batch reads of the layer's experts: those that one of its tokens chooses.
double used_bytes(const Tape& tape, const LayerWeights& weights) {
  const Architecture& a = tape.architecture();
  const auto chosen = static_cast<double>(a.experts_per_token);
  double used = 0, bytes = 0;
  for (const double share : tape.workload().expert_load.shares(a.experts, a.experts_per_token))
    used += 1 - std::pow(1 - std::min(chosen * share, 1.0), static_cast<double>(tape.tokens()));
  for (const WeightKind kind : {WeightKind::ffn_gate, WeightKind::ffn_up, WeightKind::ffn_down}) {
    const Linear all = weights.group(kind);
    for (const std::vector<std::uint32_t>* some : {&all.matrices, &all.biases})
      for (const std::uint32_t index : *some)
        bytes += static_cast<double>(tape.bytes_of(index).value());
  }
  return bytes * used / static_cast<double>(a.experts);
}

/// All that the routed experts do, by the CPU: each token times its experts, added up by their
/// shares. Each product reads the matrices of the experts that are used from memory.
///   Kept   in host memory for its way back: what products make of copies, and what is between them
///   Works  on copies of tokens, whose gradients take their place, and on the gradient of the inner
///          width
///   Source  KTransformers, kt-kernel/operators/amx/sft_moe.hpp: ForwardCache (gate, up,
///           intermediate and down outputs), SFTSharedPools (once for all layers)
Value cpu_experts(Tape& tape, const LayerWeights& weights, Value x, Value shares,
                  std::uint64_t width) {
  const Architecture& a = tape.architecture();
  const std::uint64_t rows = tape.tokens() * a.experts_per_token;
  const std::uint64_t products = a.gated_ffn ? 3 : 2, inner_width = tape.split(a.expert_ffn);
  const Flops flops(2.0 * static_cast<double>(rows * width * inner_width * products));
  const Bytes bytes(static_cast<std::uint64_t>(used_bytes(tape, weights)) +
                    2 * rows * width * tape.element());
  const Value inner = tape.value_of(x.tensor);
  const Value output = tape.value("experts.output", tape.tokens() * width);
  Operator& forward = tape.add(
      "experts.cpu", OperatorFunction::cpu_experts,
      {{x.tensor, Access::read}, {shares.tensor, Access::read}, {output.tensor, Access::write}},
      {x.tensor, shares.tensor});
  forward.flops = flops;
  forward.bytes = bytes;
  forward.cpu_keeps = Bytes(rows * (inner_width * products + width) * tape.element());
  const Bytes works(rows * (inner_width + width) * tape.element());
  forward.cpu_works = works;
  tape.on_backward([&tape, x, inner, shares, output, flops, bytes, works] {
    std::vector<Operand> back{
        tape.gradient(output), {x.tensor, Access::read}, {shares.tensor, Access::read}};
    tape.accumulate(back, inner);
    tape.accumulate(back, shares);
    Operator& backward =
        tape.add("experts.cpu.backward", OperatorFunction::cpu_experts_backward, std::move(back));
    backward.flops = flops;
    backward.bytes = bytes;
    backward.cpu_works = works;
    tape.pass_gradient(inner, x);
  });
  return output;
}

/// `x` by a matrix to or from the latents of experts, which all tensor ranks have whole.
Value through(Tape& tape, const LayerWeights& weights, WeightKind kind, Value x,
              std::uint64_t outputs) {
  const std::string name = std::string("experts.") + to_string(kind);
  const Value y = tape.value(name, tape.tokens() * outputs);
  matmul(tape, name, x, weights.of(kind).front(), tape.tokens(), tape.elements(x) / tape.tokens(),
         {y});
  return y;
}

/// What tensor ranks have whole of this half: each sees a part of what experts make, and with it of
/// what experts count.
void mark_partial_beside_experts(Tape& tape, const LayerWeights& weights) {
  for (const WeightKind kind :
       {WeightKind::router, WeightKind::router_norm, WeightKind::router_scale,
        WeightKind::shared_router, WeightKind::latent_in, WeightKind::latent_out})
    if (weights.has(kind)) mark_partial(tape, weights.of(kind).front());
}

/// Experts: a router, copies of each token for its experts, their sum by the router's weights.
Value experts(Tape& tape, const LayerWeights& weights, Value x, Value routed) {
  const Architecture& a = tape.architecture();
  const bool narrow = a.expert_latent > 0;
  const std::uint64_t width = narrow ? a.expert_latent : a.hidden;
  const Value read = narrow ? through(tape, weights, WeightKind::latent_in, x, width) : x;
  const Routed r = scatter(tape, weights, read, routed, width);
  Value output;
  if (tape.workload().experts_on_cpu) {
    output = cpu_experts(tape, weights, read, shares_of(tape, weights, r), width);
  } else {
    const Value parts = through_experts(tape, weights, r.copies, width);
    const Value shares = shares_of(tape, weights, r);
    output = tape.value("experts.output", tape.tokens() * width);
    elementwise(tape, "experts.gather",
                {OperatorFunction::gather_experts, OperatorFunction::gather_experts_backward},
                {parts, shares}, {output}, {parts.tensor, shares.tensor});
  }
  if (narrow) output = through(tape, weights, WeightKind::latent_out, output, a.hidden);
  if (!weights.has(WeightKind::shared_up) || a.dense_beside_experts) return output;
  return sum(tape, "experts.sum", output, shared_experts(tape, weights, x));
}

}  // namespace

Value dense_half(Tape& tape, const LayerWeights& weights, Value x) {
  const Architecture& a = tape.architecture();
  DenseFeedForward of{"ffn",         WeightKind::ffn_gate, WeightKind::ffn_up, WeightKind::ffn_down,
                      tape.tokens(), tape.split(a.ffn)};
  if (a.dense_beside_experts)
    of = {"dense",       WeightKind::shared_gate, WeightKind::shared_up, WeightKind::shared_down,
          tape.tokens(), tape.split(a.ffn)};
  const Value input = enter_split(tape, x);
  const Value output =
      tape.workload().mlp_tiles > 1
          ? feed_forward_in_tiles(tape, weights, of, input)
          : multiply(tape, weights, {of.prefix, of.gate, of.up, of.down, of.rows, of.width}, input);
  return leave_split(tape, output);
}

Value experts_half(Tape& tape, const LayerWeights& weights, Value x, Value routed) {
  if (tape.is_split()) mark_partial_beside_experts(tape, weights);
  const Value input = enter_split(tape, x);
  const Value output =
      experts(tape, weights, input, routed.slot == x.slot ? input : enter_split(tape, routed));
  return leave_split(tape, output);
}

Value feed_forward(Tape& tape, const LayerWeights& weights, Value x) {
  return weights.has(WeightKind::router) ? experts_half(tape, weights, x, x)
                                         : dense_half(tape, weights, x);
}

}  // namespace spillway::models
