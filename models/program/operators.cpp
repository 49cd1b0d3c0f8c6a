#include "models/program/operators.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>

namespace spillway::models {

namespace {

void append(std::vector<Operand>& operands, const Linear& weights) {
  for (const std::uint32_t matrix : weights.matrices) operands.push_back({matrix, Access::read});
  for (const std::uint32_t bias : weights.biases) operands.push_back({bias, Access::read});
}

void append_gradients(const Tape& tape, std::vector<Operand>& operands, const Linear& weights) {
  for (const std::uint32_t matrix : weights.matrices)
    operands.push_back(tape.weight_gradient(matrix));
  for (const std::uint32_t bias : weights.biases) operands.push_back(tape.weight_gradient(bias));
}

Flops flops_of(std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  return Flops(2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
}

/// Bytes of the copies that kernels make of `weights` before they multiply.
Bytes copies_of(const Tape& tape, const std::vector<std::uint32_t>& weights) {
  Bytes bytes;
  for (const std::uint32_t weight : weights) bytes += tape.copy_of(weight);
  return bytes;
}

Adapters adapters_of(const Model& model, const Linear& weights) {
  Adapters adapters;
  for (const std::uint32_t matrix : weights.matrices) {
    const std::optional<std::uint32_t> adapter = model.weights[matrix].adapter;
    if (!adapter) continue;
    adapters.down.matrices.push_back(*adapter);
    adapters.up.matrices.push_back(*adapter + 1);
    const std::size_t third = *adapter + 2;
    if (third < model.weights.size() && model.weights[third].kind == WeightKind::adapter_magnitude)
      adapters.magnitudes.matrices.push_back(*adapter + 2);
  }
  return adapters;
}

}  // namespace

void mark_whole(Tape& tape, const Adapters& adapters) {
  if (!tape.is_split()) return;
  for (std::size_t i = 0; i < adapters.down.matrices.size(); ++i) {
    const std::uint32_t down = adapters.down.matrices[i], up = adapters.up.matrices[i];
    const auto is_cut = [&](std::uint32_t one) {
      return tape.model().weights[one].cut != Cut::none;
    };
    if (is_cut(up)) tape.mark_partial(down);
    if (is_cut(down)) tape.mark_partial(up);
  }
}

void mark_partial(Tape& tape, const Linear& weights) {
  for (const std::uint32_t matrix : weights.matrices) tape.mark_partial(matrix);
  for (const std::uint32_t bias : weights.biases) tape.mark_partial(bias);
}

void add_copies(const Tape& tape, Operator& op, const Linear& weights) {
  for (const std::uint32_t weight : weights.matrices)
    if (tape.in_fp8(weight) && tape.keeps_copies())
      op.bytes = op.bytes + Bytes(tape.elements_of(weight)) - tape.bytes_of(weight);
  const Bytes bytes = copies_of(tape, weights.matrices);
  op.workspace += bytes;
  op.bytes += bytes * 2u;
  for (const std::uint32_t weight : weights.matrices)
    if (tape.copy_of(weight).value() > 0)
      op.widened += tape.bytes_of(weight) + tape.copy_of(weight);
}

LayerWeights::LayerWeights(const Model& model, std::uint32_t layer) {
  std::vector<Linear>* last = nullptr;
  for (const std::uint32_t index : model.layers[layer].weights) {
    const WeightKind kind = model.weights[index].kind;
    if (model.weights[index].is_adapter()) continue;  // its matrix names it
    if (kind == WeightKind::bias) {                   // belongs to the weight before it
      last->back().biases.push_back(index);
      continue;
    }
    last = &by_kind_[static_cast<std::size_t>(kind)];
    last->push_back({{index}, {}});
  }
}

Linear LayerWeights::group(WeightKind kind) const {
  Linear group;
  for (const Linear& linear : of(kind)) {
    group.matrices.insert(group.matrices.end(), linear.matrices.begin(), linear.matrices.end());
    group.biases.insert(group.biases.end(), linear.biases.begin(), linear.biases.end());
  }
  return group;
}

bool drops_hidden(const Tape& tape) {
  return tape.workload().dropout > 0 && tape.architecture().hidden_dropout;
}

namespace {

/// Copies that stay until the weights change: transposed ones too, for the gradient of what the
/// layer reads, where there is a backward.
void quantize_weights(Tape& tape, std::string_view name, const Linear& weights) {
  const bool transposes = tape.workload().fp8.transposes && tape.goes_back();
  std::vector<Operand> operands;
  Bytes written;
  for (const std::uint32_t matrix : weights.matrices) {
    operands.push_back({matrix, Access::read});
    written += Bytes(tape.elements_of(matrix) * (transposes ? 2 : 1));
  }
  Operator& op = tape.add(std::string(name) + ".weights_fp8", OperatorFunction::quantize_weights,
                          std::move(operands));
  op.bytes += written;
}

/// What a product reads, and what its weight gradient reads of it.
Tape::Quantized inputs_of(Tape& tape, std::string_view name, Value x, const Linear& weights) {
  const std::uint32_t matrix = weights.matrices.front();
  if (!tape.in_fp8(matrix)) return {x.tensor, x.tensor};
  if (tape.keeps_copies()) quantize_weights(tape, name, weights);
  return tape.quantized(name, x, tape.trains(matrix));
}

/// The gradients of a product's outputs, for the gradients of its input and of its weights.
std::vector<Tape::Quantized> gradients_of(Tape& tape, std::string_view name, const Linear& weights,
                                          const std::vector<Value>& outputs) {
  const std::uint32_t matrix = weights.matrices.front();
  if (tape.in_fp8(matrix)) return tape.quantized_gradients(name, outputs, tape.trains(matrix));
  std::vector<Tape::Quantized> all;
  for (const Value& output : outputs) {
    const TensorId gradient = tape.gradient(output).tensor;
    all.push_back({gradient, gradient});
  }
  return all;
}

void product(Tape& tape, std::string_view name, Value x, const Linear& weights, std::uint64_t rows,
             std::uint64_t inputs, const std::vector<Value>& outputs, std::uint64_t batch) {
  std::uint64_t width = 0;
  const bool fp8 = tape.in_fp8(weights.matrices.front());
  const Tape::Quantized in = inputs_of(tape, name, x, weights);
  std::vector<Operand> operands{{in.plain, Access::read}};
  append(operands, weights);
  for (const Value& output : outputs) {
    operands.push_back({output.tensor, Access::write});
    width += tape.elements(output) / rows;
  }
  if (batch == 0) batch = weights.matrices.size();
  const std::uint64_t m = description::divide_up(rows, batch);
  const Flops flops = flops_of(rows, width, inputs);
  const bool trains = tape.trains(weights.matrices.front());
  const bool saves = trains && !fp8;
  if (tape.has_own_tokens(x)) mark_partial(tape, weights);
  Operator& forward = tape.add(name, OperatorFunction::product, std::move(operands),
                               saves ? std::vector<TensorId>{x.tensor} : std::vector<TensorId>());
  add_copies(tape, forward, weights);
  forward.fp8 = fp8;
  forward.flops = flops;
  forward.gemm = {m, width, inputs, batch};
  tape.on_backward([&tape, name = std::string(name), x, weights, outputs, flops, m, width, inputs,
                    batch, trains, fp8, in] {
    std::vector<Operand> to_input, to_weight;
    for (const Tape::Quantized& gradient : gradients_of(tape, name, weights, outputs)) {
      to_input.push_back({gradient.plain, Access::read});
      to_weight.push_back({gradient.transposed, Access::read});
    }
    for (const std::uint32_t matrix : weights.matrices) to_input.push_back({matrix, Access::read});
    tape.accumulate(to_input, x);
    Operator& input =
        tape.add(name + ".dgrad", OperatorFunction::product_input_gradient, std::move(to_input));
    add_copies(tape, input, weights);
    input.fp8 = fp8;
    input.flops = flops;
    input.gemm = {m, inputs, width, batch};
    if (!trains) return;
    to_weight.push_back({in.transposed, Access::read});
    append_gradients(tape, to_weight, weights);
    Operator& weight =
        tape.add(name + ".wgrad", OperatorFunction::product_weight_gradient, std::move(to_weight));
    weight.fp8 = fp8;
    weight.flops = flops;
    weight.gemm = {width, inputs, m, batch};
  });
}

/// What `adapters` make of `x`, to be added to `outputs`.
std::vector<Value> adapted(Tape& tape, const std::string& name, Value x, const Adapters& adapters,
                           std::uint64_t rows, std::uint64_t inputs,
                           const std::vector<Value>& outputs) {
  const Linear &down = adapters.down, &up = adapters.up;
  const std::uint64_t rank = tape.model().weights[down.matrices.front()].outputs();
  const std::size_t batch = down.matrices.size();
  mark_whole(tape, adapters);
  const Value narrow = tape.has_own_tokens(x) ? tape.value_beside(x, name + ".adapter", rank)
                                              : tape.value(name + ".adapter", rows * rank);
  product(tape, name + ".adapter_down", x, down, rows, inputs, {narrow}, batch);
  std::vector<Value> added;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    added.push_back(tape.value(name + ".adapted_" + std::to_string(i), tape.elements(outputs[i])));
  product(tape, name + ".adapter_up", narrow, up, rows, rank, added, batch);
  return added;
}

/// Adds to `outputs`. The gradient of what is added is that of the outputs.
void add_to(Tape& tape, const std::string& name, const std::vector<Value>& added,
            const std::vector<Value>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    tape.add(name + ".adapter_sum", OperatorFunction::adapter_sum,
             {{outputs[i].tensor, Access::read_write}, {added[i].tensor, Access::read}});
    tape.on_backward([&tape, y = outputs[i], u = added[i]] { tape.pass_gradient(y, u); });
  }
}

}  // namespace

void matmul(Tape& tape, std::string_view name, Value x, const Linear& weights, std::uint64_t rows,
            std::uint64_t inputs, const std::vector<Value>& outputs, std::uint64_t batch) {
  const std::string base(name);
  const Adapters adapters = adapters_of(tape.model(), weights);
  const std::size_t count = adapters.down.matrices.size();
  ENSURE(count == 0 || count == weights.matrices.size(), base + " has some adapters");
  const bool rescales = !adapters.magnitudes.matrices.empty();
  AdaptedProduct own{weights, adapters, outputs};
  if (rescales)
    for (std::size_t i = 0; i < outputs.size(); ++i)
      own.outputs[i] =
          tape.value(base + ".product_" + std::to_string(i), tape.elements(outputs[i]));
  product(tape, name, x, weights, rows, inputs, own.outputs, batch);
  if (count == 0) return;
  const std::vector<Value> added = adapted(tape, base, x, adapters, rows, inputs, outputs);
  if (rescales)
    rescale(tape, base, own, added, outputs);
  else
    add_to(tape, base, added, outputs);
}

Value norm(Tape& tape, std::string_view name, Value x, const Linear* weights) {
  return norm_rows(tape, name, x, weights, tape.elements(x) / tape.rows(x));
}

namespace {

/// What a norm by root mean square keeps and moves beside its input and output where it is written
/// in PyTorch's own operators, one kernel after the other: to fp32, the square, its mean, times the
/// inverse root, to the type of the model, times the weight.
/// Some types multiply by the weight first, and then go to the type of the model.
///   Source  Hugging Face modeling_llama.py, LlamaRMSNorm.forward; modeling_gemma2.py and
///           modeling_olmo2.py; which operands autograd keeps: PyTorch derivatives.yaml (pow, mul,
///           rsqrt, to). Where all is fp32, x alone is kept, as TeraIO counts the block of a Llama
struct UnfusedNorm {
  std::optional<TensorId> wide;   ///< x in fp32, read by backward in place of x
  std::vector<TensorId> besides;  ///< before the weight, for its gradient; x, to start again from
  Bytes workspace, backward_workspace;
  Bytes traffic, backward_traffic;  ///< beside that of the operands
};

/// Backward starts again from x: with the block, or with its norms alone.
bool starts_again(const Tape& tape, Value x) {
  const auto& again = tape.workload().recomputed;
  return (tape.workload().keeps_inputs && tape.is_input_of_block(x)) ||
         std::find(again.begin(), again.end(), description::RecomputedOperator::norm) !=
             again.end();
}

UnfusedNorm unfused_norm(Tape& tape, const std::string& base, Value x, const Linear& weights) {
  // bytes an element of fp32 temporaries: forward the square; backward the gradient that comes, its
  // product with the root, and what the square's own takes
  constexpr std::uint64_t held = 4, held_backward = 12;
  // bytes an element that the kernels read and write, those of operands left out
  const bool wide = tape.architecture().wide_norms;
  const std::uint64_t moved = wide ? 28 : 26, moved_backward = wide ? 82 : 72;
  const std::uint64_t count = tape.elements(x);
  UnfusedNorm norm;
  norm.wide = tape.tensor(base + ".input_fp32", count, 4);
  if (!weights.matrices.empty() && tape.trains(weights.matrices.front()))
    norm.besides.push_back(tape.tensor(base + ".normed", count, wide ? 4 : tape.element()));
  if (starts_again(tape, x)) norm.besides.push_back(x.tensor);
  norm.workspace = Bytes(count * held);
  norm.backward_workspace = Bytes(count * held_backward);
  norm.traffic = Bytes(count * moved);
  norm.backward_traffic = Bytes(count * moved_backward);
  return norm;
}

}  // namespace

Value norm_rows(Tape& tape, std::string_view name, Value x, const Linear* weights,
                std::uint64_t width) {
  const std::string base(name);
  // Mean and deviation, or the latter.
  const bool layer_norm =
      tape.architecture().layer_norm || (weights != nullptr && !weights->biases.empty());
  const std::uint64_t statistics = layer_norm ? 2 : 1;
  const TensorId stats =
      tape.tensor(base + ".statistics", statistics * (tape.elements(x) / width), 4);
  const Value y = tape.value_like(x, base + ".output");
  const Linear own = weights == nullptr ? Linear{} : *weights;
  // PyTorch has one kernel of its own for a norm with a mean
  const bool fused = layer_norm || tape.workload().fused_kernels || tape.element() == 4;
  const UnfusedNorm unfused = fused ? UnfusedNorm{} : unfused_norm(tape, base, x, own);
  std::vector<Operand> operands{{x.tensor, Access::read}};
  append(operands, own);
  if (tape.has_own_tokens(x)) mark_partial(tape, own);
  operands.push_back({stats, Access::write});
  operands.push_back({y.tensor, Access::write});
  std::vector<TensorId> saved{unfused.wide.value_or(x.tensor), stats};
  if (unfused.wide) operands.push_back({*unfused.wide, Access::write});
  for (const TensorId tensor : unfused.besides) {
    if (tensor != x.tensor) operands.push_back({tensor, Access::write});
    saved.push_back(tensor);
  }
  Operator& forward = tape.add(name, OperatorFunction::norm, std::move(operands), saved);
  forward.workspace = unfused.workspace;
  forward.bytes += unfused.traffic;
  tape.on_backward([&tape, base, x, y, saved = std::move(saved), unfused, own] {
    std::vector<Operand> back{tape.gradient(y), {saved[0], Access::read}, {saved[1], Access::read}};
    for (const std::uint32_t weight : own.matrices) back.push_back({weight, Access::read});
    append_gradients(tape, back, own);
    tape.accumulate(back, x);
    for (const TensorId tensor : unfused.besides) back.push_back({tensor, Access::read});
    Operator& backward =
        tape.add(base + ".backward", OperatorFunction::norm_backward, std::move(back));
    backward.workspace = unfused.backward_workspace;
    backward.bytes += unfused.backward_traffic;
  });
  return y;
}

void elementwise(Tape& tape, std::string_view name, BothWays functions,
                 const std::vector<Value>& inputs, const std::vector<Value>& outputs,
                 std::vector<TensorId> saved) {
  std::vector<Operand> operands;
  for (const Value& input : inputs) operands.push_back({input.tensor, Access::read});
  for (const Value& output : outputs) operands.push_back({output.tensor, Access::write});
  tape.add(name, functions.forward, std::move(operands), saved);
  tape.on_backward(
      [&tape, name = std::string(name), functions, inputs, outputs, saved = std::move(saved)] {
        std::vector<Operand> back;
        for (const Value& output : outputs) back.push_back(tape.gradient(output));
        for (const TensorId tensor : saved) back.push_back({tensor, Access::read});
        for (const Value& input : inputs) tape.accumulate(back, input);
        tape.add(name + ".backward", functions.backward, std::move(back));
      });
}

Value sum(Tape& tape, std::string_view name, Value x, Value f) {
  const Value y = tape.value_like(x, std::string(name) + ".output");
  tape.add(name, OperatorFunction::residual,
           {{x.tensor, Access::read}, {f.tensor, Access::read}, {y.tensor, Access::write}});
  tape.on_backward([&tape, x, f, y] {
    tape.pass_gradient(y, x);
    tape.pass_gradient(y, f);
  });
  return y;
}

Value residual(Tape& tape, std::string_view name, Value x, Value f) {
  if (!drops_hidden(tape)) return sum(tape, name, x, f);
  const std::string base(name);
  const Value y = tape.value_like(x, base + ".output");
  const TensorId mask = tape.tensor(base + ".dropout_mask", tape.elements(x), 1);
  tape.add(name, OperatorFunction::residual,
           {{x.tensor, Access::read},
            {f.tensor, Access::read},
            {mask, Access::write},
            {y.tensor, Access::write}},
           {mask})
      .draw = tape.next_draw();
  tape.on_backward([&tape, base, x, f, y, mask] {
    tape.pass_gradient(y, x);
    std::vector<Operand> back{tape.gradient(y), {mask, Access::read}};
    tape.accumulate(back, f);
    tape.add(base + ".backward", OperatorFunction::residual_backward, std::move(back));
  });
  return y;
}

void dropout(Tape& tape, std::string_view name, Value x) {
  const std::string base(name);
  const TensorId mask = tape.tensor(base + ".dropout_mask", tape.elements(x), 1);
  tape.add(name, OperatorFunction::dropout, {{x.tensor, Access::read_write}, {mask, Access::write}},
           {mask})
      .draw = tape.next_draw();
  tape.on_backward([&tape, base, x, mask] {
    std::vector<Operand> back{{mask, Access::read}};
    tape.accumulate(back, x);
    tape.add(base + ".backward", OperatorFunction::dropout_backward, std::move(back));
  });
}

void rope(Tape& tape, Value query, Value key, std::uint64_t query_dim, std::uint64_t key_dim) {
  const std::uint64_t rotated = tape.architecture().rotated_dims;
  const auto touched = [&](Value x, std::uint64_t dim) {
    const std::uint64_t share = rotated == 0 ? dim : std::min(rotated, dim);
    return Bytes(2 * tape.element() * (tape.elements(x) / dim) * share);
  };
  const Bytes bytes = touched(query, query_dim) + touched(key, key_dim);
  tape.add("rope", OperatorFunction::rotation,
           {{query.tensor, Access::read_write}, {key.tensor, Access::read_write}})
      .bytes = bytes;
  tape.on_backward([&tape, query, key, bytes] {
    std::vector<Operand> back;
    tape.accumulate(back, query);
    tape.accumulate(back, key);
    tape.add("rope.backward", OperatorFunction::rotation_backward, std::move(back)).bytes = bytes;
  });
}

}  // namespace spillway::models
