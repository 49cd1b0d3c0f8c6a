#include "models/program/operators.hpp"
#include "scenarios/description/units.hpp"

namespace spillway::models {

namespace {

/// One rank's part of the recurrence, whichever it is.
struct Scan {
  OperatorFunction forward, backward;
  std::uint64_t heads = 0;
  std::uint64_t mixed = 0;   ///< elements a token that the convolution mixes
  std::uint64_t values = 0;  ///< and that come out
  std::uint64_t normed = 0;  ///< elements that the norm behind takes together
  std::uint64_t chunk = 0;   ///< tokens that are taken at once
  std::uint64_t decays = 0;  ///< of a token
  std::uint64_t kept = 0;    ///< matrices of a chunk that are kept: a row for each token and head
  Bytes state{};             ///< between chunks, a head
  double products = 0;       ///< multiplications a token and head
};

/// Within a chunk keys by keys, queries by keys, the inverse of the former by keys and by values,
/// and scores by values; three products between the state and the token.
/// Kept is the inverse; where each channel has a decay, the scores too.
///   Source  flash-linear-attention, ops/gated_delta_rule, ops/kda: chunks of 64, states in 16 bit
Scan delta_scan(const Tape& tape) {
  const DeltaRule& d = tape.architecture().delta;
  const double keys = static_cast<double>(d.key_dim), values = static_cast<double>(d.value_dim);
  Scan scan{OperatorFunction::delta_rule, OperatorFunction::delta_rule_backward};
  scan.heads = tape.split(d.value_heads);
  scan.values = tape.split(d.value_width());
  scan.mixed = 2 * tape.split(d.key_width()) + scan.values;
  scan.normed = d.value_dim;
  scan.chunk = 64;
  scan.decays = d.rank > 0 ? tape.split(d.key_width()) : scan.heads;
  scan.kept = d.rank > 0 ? 2 : 1;
  scan.state = Bytes(d.key_dim * d.value_dim * tape.element());
  scan.products = static_cast<double>(scan.chunk) * (3 * keys + 2 * values) + 3 * keys * values;
  return scan;
}

/// Within a chunk the scores, which the heads of a group share, and scores by values; a product
/// into the state and one out of it.
///   Source  mamba_ssm, ssd_chunk_scan and ssd_chunk_state: states in fp32
Scan state_space_scan(const Tape& tape) {
  const StateSpace& s = tape.architecture().state_space;
  const double chunk = static_cast<double>(s.chunk), state = static_cast<double>(s.state);
  const double dim = static_cast<double>(s.head_dim);
  const double share = static_cast<double>(s.groups) / static_cast<double>(s.heads);
  Scan scan{OperatorFunction::state_space, OperatorFunction::state_space_backward};
  scan.heads = tape.split(s.heads);
  scan.values = tape.split(s.width());
  scan.mixed = scan.values + 2 * tape.split(s.groups * s.state);
  scan.normed = s.width() / s.groups;
  scan.chunk = s.chunk;
  scan.decays = scan.heads;
  scan.state = Bytes(s.head_dim * s.state * 4);
  scan.products = chunk * (share * state + dim) + 2 * state * dim;
  return scan;
}

/// What the recurrence reads: all that is mixed, side by side or apart, the gate of its output, and
/// the rates of forgetting and learning.
struct Projected {
  std::vector<Value> mixed;
  Value gate;
  std::vector<Value> rates;
};

/// Queries, keys and values each by a matrix, decays and gate by way of something narrow that each
/// tensor rank has whole.
Projected project_channels(Tape& tape, const LayerWeights& weights, const Scan& scan, Value x) {
  const DeltaRule& d = tape.architecture().delta;
  const std::uint64_t rows = tape.tokens(), hidden = tape.architecture().hidden;
  const auto product = [&](const std::string& name, WeightKind kind, Value from,
                           std::uint64_t inputs, std::uint64_t outputs) {
    const Value y = tape.value(name, rows * outputs);
    matmul(tape, name, from, weights.of(kind).front(), rows, inputs, {y});
    return y;
  };
  const auto through = [&](const std::string& name, WeightKind down, WeightKind up,
                           std::uint64_t outputs) {
    if (tape.is_split()) mark_partial(tape, weights.of(down).front());
    const Value latent = product(name + "_latent", down, x, hidden, d.rank);
    return product(name, up, latent, d.rank, outputs);
  };
  const std::uint64_t keys = tape.split(d.key_width());
  Projected p;
  p.mixed = {product("mixer.query", WeightKind::query, x, hidden, keys),
             product("mixer.key", WeightKind::key, x, hidden, keys),
             product("mixer.value", WeightKind::value, x, hidden, scan.values)};
  p.rates = {
      through("mixer.channel_rates", WeightKind::rates_latent, WeightKind::channel_rates, keys),
      product("mixer.rates", WeightKind::rates, x, hidden, scan.heads)};
  p.gate = through("mixer.gate", WeightKind::gate_latent, WeightKind::output_gate, scan.values);
  return p;
}

Projected project_scan(Tape& tape, const LayerWeights& weights, const Scan& scan, Value x) {
  const std::uint64_t rows = tape.tokens(), hidden = tape.architecture().hidden;
  if (weights.has(WeightKind::rates_latent)) return project_channels(tape, weights, scan, x);
  const Value mixed = tape.value("mixer.mixed", rows * scan.mixed);
  Projected p{{mixed}, tape.value("mixer.gate", rows * scan.values), {}};
  const Linear& first = weights.of(WeightKind::query).back();  // behind what attention has
  const auto& rates = weights.of(WeightKind::rates);
  if (rates.empty()) {
    p.rates.push_back(tape.value("mixer.rates", rows * scan.heads));
    matmul(tape, "mixer.in", x, first, rows, hidden, {p.gate, mixed, p.rates.back()});
  } else if (weights.has(WeightKind::output_gate)) {
    matmul(tape, "mixer.mixed", x, first, rows, hidden, {mixed});
    matmul(tape, "mixer.gate", x, weights.of(WeightKind::output_gate).front(), rows, hidden,
           {p.gate});
  } else {
    matmul(tape, "mixer.mixed", x, first, rows, hidden, {mixed, p.gate});
  }
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const std::string name = "mixer.rates_" + std::to_string(i);
    p.rates.push_back(tape.value(name, rows * scan.heads * 2 / rates.size()));
    matmul(tape, name, x, rates[i], rows, hidden, {p.rates.back()});
  }
  return p;
}

/// Each channel's sum over its latest tokens, activated in the same kernel, which saves its input.
Value convolve(Tape& tape, const Linear& kernels, Value x) {
  std::vector<std::uint32_t> all = kernels.matrices;
  all.insert(all.end(), kernels.biases.begin(), kernels.biases.end());
  const Value y = tape.value("mixer.convolved", tape.elements(x));
  std::vector<Operand> operands{{x.tensor, Access::read}};
  for (const std::uint32_t weight : all) operands.push_back({weight, Access::read});
  operands.push_back({y.tensor, Access::write});
  tape.add("mixer.convolution", OperatorFunction::convolution, std::move(operands), {x.tensor});
  tape.on_backward([&tape, x, y, all] {
    std::vector<Operand> back{tape.gradient(y), {x.tensor, Access::read}};
    for (const std::uint32_t weight : all) {
      back.push_back({weight, Access::read});
      back.push_back(tape.weight_gradient(weight));
    }
    tape.accumulate(back, x);
    tape.add("mixer.convolution.backward", OperatorFunction::convolution_backward, std::move(back));
  });
  return y;
}

Value recur(Tape& tape, const LayerWeights& weights, const Scan& scan, const Projected& p) {
  const std::uint64_t tokens = tape.tokens(), sequence = tape.workload().sequence;
  const Flops flops(2 * static_cast<double>(tokens * scan.heads) * scan.products);
  const Bytes states = scan.state * (tape.workload().micro_batch *
                                     description::divide_up(sequence, scan.chunk) * scan.heads);
  std::vector<TensorId> saved;
  for (const Value& mixed : p.mixed) saved.push_back(mixed.tensor);
  for (const Value& rate : p.rates) saved.push_back(rate.tensor);
  std::vector<std::uint32_t> decay;
  for (const Linear& one : weights.of(WeightKind::decay)) decay.push_back(one.matrices.front());
  std::vector<Operand> operands;
  for (const TensorId tensor : saved) operands.push_back({tensor, Access::read});
  for (const std::uint32_t weight : decay) operands.push_back({weight, Access::read});
  saved.push_back(tape.tensor("mixer.decays", tokens * scan.decays, 4));
  operands.push_back({saved.back(), Access::write});
  if (scan.kept > 0) {
    saved.push_back(tape.tensor("mixer.inverses", tokens * scan.heads * scan.chunk * scan.kept,
                                tape.element()));
    operands.push_back({saved.back(), Access::write});
  }
  const Value y = tape.value("mixer.output", tokens * scan.values);
  operands.push_back({y.tensor, Access::write});
  Operator& forward = tape.add("mixer.scan", scan.forward, std::move(operands), saved);
  forward.flops = flops;
  forward.workspace = states;
  forward.bytes += states * 2u;  // each is written and read
  tape.on_backward([&tape, p, y, saved, decay, flops, states, back_function = scan.backward] {
    std::vector<Operand> back{tape.gradient(y)};
    for (const TensorId tensor : saved) back.push_back({tensor, Access::read});
    for (const std::uint32_t weight : decay) {
      back.push_back({weight, Access::read});
      back.push_back(tape.weight_gradient(weight));
    }
    for (const Value& mixed : p.mixed) tape.accumulate(back, mixed);
    for (const Value& rate : p.rates) tape.accumulate(back, rate);
    Operator& backward = tape.add("mixer.scan.backward", back_function, std::move(back));
    backward.flops = flops * 2.0;
    backward.workspace = states * 2u;  // made again, and their gradients
    backward.bytes += states * 4u;
  });
  return y;
}

/// The norm of each head, or group, of `x`, times silu of the gate, in one kernel.
Value gated_norm(Tape& tape, const LayerWeights& weights, std::uint64_t width, Value x,
                 Value gate) {
  const std::uint32_t weight = weights.of(WeightKind::mixer_norm).front().matrices.front();
  const TensorId statistics = tape.tensor("mixer.norm.statistics", tape.elements(x) / width, 4);
  if (tape.is_split()) tape.mark_partial(weight);
  const Value y = tape.value("mixer.normed", tape.elements(x));
  const std::vector<TensorId> saved{x.tensor, gate.tensor, statistics};
  tape.add("mixer.norm", OperatorFunction::gated_norm,
           {{x.tensor, Access::read},
            {gate.tensor, Access::read},
            {weight, Access::read},
            {statistics, Access::write},
            {y.tensor, Access::write}},
           saved);
  tape.on_backward([&tape, x, gate, y, weight, saved] {
    std::vector<Operand> back{tape.gradient(y)};
    for (const TensorId tensor : saved) back.push_back({tensor, Access::read});
    back.push_back({weight, Access::read});
    back.push_back(tape.weight_gradient(weight));
    tape.accumulate(back, x);
    tape.accumulate(back, gate);
    tape.add("mixer.norm.backward", OperatorFunction::gated_norm_backward, std::move(back));
  });
  return y;
}

/// What the recurrence makes, times silu of the gate, normed where the type norms it.
Value gate_output(Tape& tape, const LayerWeights& weights, const Scan& scan, Value x, Value gate) {
  return weights.has(WeightKind::mixer_norm) ? gated_norm(tape, weights, scan.normed, x, gate)
                                             : fused_gated_product(tape, "mixer", gate, x);
}

Value multiplied(Tape& tape, const char* name, Value x, Value y) {
  const Value product = tape.value(name, tape.elements(x));
  elementwise(tape, name,
              {OperatorFunction::element_product, OperatorFunction::element_product_backward},
              {x, y}, {product}, {x.tensor, y.tensor});
  return product;
}

/// `x` by the matrix behind what mixes tokens.
Value leave_mixer(Tape& tape, const LayerWeights& weights, Value x, std::uint64_t width) {
  const Value output = tape.value("mixer.projection", tape.tokens() * tape.architecture().hidden);
  matmul(tape, "mixer.projection", x, weights.of(WeightKind::attention_output).back(),
         tape.tokens(), width, {output});
  return leave_split(tape, output);
}

}  // namespace

Value short_convolution(Tape& tape, const LayerWeights& weights, Value x) {
  const std::uint64_t rows = tape.tokens(), hidden = tape.architecture().hidden;
  const std::uint64_t width = tape.split(hidden);
  const Value before = tape.value("mixer.gate_before", rows * width);
  const Value behind = tape.value("mixer.gate_behind", rows * width);
  const Value input = tape.value("mixer.input", rows * width);
  matmul(tape, "mixer.in", enter_split(tape, x), weights.of(WeightKind::query).front(), rows,
         hidden, {before, behind, input});
  const Value convolved = convolve(tape, weights.of(WeightKind::convolution).front(),
                                   multiplied(tape, "mixer.gated", before, input));
  return leave_mixer(tape, weights, multiplied(tape, "mixer.output", behind, convolved), width);
}

Value linear_attention(Tape& tape, const LayerWeights& weights, Value x) {
  const Scan scan =
      has_state_space(tape.architecture().here.mixer) ? state_space_scan(tape) : delta_scan(tape);
  Projected p = project_scan(tape, weights, scan, enter_split(tape, x));
  for (std::size_t i = 0; i < p.mixed.size(); ++i)
    p.mixed[i] = convolve(tape, weights.of(WeightKind::convolution).at(i), p.mixed[i]);
  const Value scanned = recur(tape, weights, scan, p);
  return leave_mixer(tape, weights, gate_output(tape, weights, scan, scanned, p.gate), scan.values);
}

}  // namespace spillway::models
