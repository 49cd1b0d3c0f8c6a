#include "models/program/layers.hpp"
#include "models/program/operators.hpp"

namespace spillway::models {

namespace {

/// One row a sample.
std::uint64_t samples(const Tape& tape) { return tape.workload().micro_batch; }

/// `inputs`, which need no gradient, times a matrix with a bias.
Value project_inputs(Tape& tape, const std::string& name, const Linear& weights, std::uint64_t rows,
                     std::uint64_t width) {
  const std::uint64_t outputs = tape.architecture().hidden;
  const TensorId inputs =
      tape.tensor(name + ".inputs", rows * width, tape.element(), TensorRole::input);
  const Value y = tape.value(name, rows * outputs);
  const Flops flops(2 * static_cast<double>(rows) * static_cast<double>(width) *
                    static_cast<double>(outputs));
  const std::uint32_t matrix = weights.matrices.front(), bias = weights.biases.front();
  Operator& forward = tape.add(name, OperatorFunction::product,
                               {{inputs, Access::read},
                                {matrix, Access::read},
                                {bias, Access::read},
                                {y.tensor, Access::write}});
  forward.flops = flops;
  forward.gemm = {rows, outputs, width, 1};
  tape.on_backward([&tape, name, inputs, y, matrix, bias, flops, rows, width, outputs] {
    Operator& back = tape.add(name + ".wgrad", OperatorFunction::product_weight_gradient,
                              {tape.gradient(y),
                               {inputs, Access::read},
                               tape.weight_gradient(matrix),
                               tape.weight_gradient(bias)});
    back.flops = flops;
    back.gemm = {outputs, width, rows, 1};
  });
  return y;
}

/// x (1 + scale) + shift, or gate x, each a row a sample.
Value modulate(Tape& tape, const std::string& name, Value x, Value modulation) {
  const Value y = tape.value(name, tape.elements(x));
  elementwise(tape, name, {OperatorFunction::modulation, OperatorFunction::modulation_backward},
              {x, modulation}, {y}, {x.tensor, modulation.tensor});
  return y;
}

Value modulation_of(Tape& tape, const Linear& weights, Value condition, std::uint64_t parts) {
  const std::uint64_t width = tape.architecture().hidden;
  const Value all = tape.value("modulation", samples(tape) * parts * width);
  matmul(tape, "modulation", condition, weights, samples(tape), width, {all});
  return all;
}

Value silu(Tape& tape, const std::string& name, Value x) {
  const Value y = tape.value(name, tape.elements(x));
  elementwise(tape, name, {OperatorFunction::activation, OperatorFunction::activation_backward},
              {x}, {y}, {x.tensor});
  return y;
}

}  // namespace

Conditioned diffusion_embedding(Tape& tape, std::uint32_t layer) {
  const Architecture& a = tape.architecture();
  const LayerWeights weights(tape.model(), layer);
  tape.begin_layer(layer, std::nullopt);
  const auto& matrices = weights.of(WeightKind::other_matrix);
  const std::uint32_t table = weights.of(WeightKind::positions).front().matrices.front();
  const std::uint64_t rows = samples(tape);
  const Value hidden =
      project_inputs(tape, "patches", matrices.at(0), tape.tokens(), a.patch_inputs);
  tape.mark_residual(hidden);
  const Value wide = project_inputs(tape, "time", matrices.at(1), rows,
                                    tape.model().weights[matrices.at(1).matrices.front()].shape[1]);
  const Value active = silu(tape, "time.activation", wide);
  const Value time = tape.value("time.projection", rows * a.hidden);
  matmul(tape, "time.projection", active, matrices.at(2), rows, a.hidden, {time});
  const TensorId labels = tape.tensor("labels", rows, 8, TensorRole::input);
  const Value label = tape.value("label", rows * a.hidden);
  const Bytes looked_up(tape.elements(label) * tape.element());
  tape.add("label", OperatorFunction::embedding,
           {{labels, Access::read}, {table, Access::read}, {label.tensor, Access::write}})
      .bytes = looked_up * 2u;
  tape.on_backward([&tape, labels, label, table, looked_up] {
    tape.add("label.backward", OperatorFunction::embedding_backward,
             {{labels, Access::read}, tape.gradient(label), tape.weight_gradient(table)})
        .bytes = looked_up * 3u;
  });
  const Value condition = silu(tape, "condition", residual(tape, "time_and_label", time, label));
  tape.mark_residual(condition);
  tape.end_layer(hidden);
  return {hidden, condition};
}

Value diffusion_block(Tape& tape, std::uint32_t layer, Value hidden, Value condition) {
  const LayerWeights weights(tape.model(), layer);
  tape.begin_layer(layer, hidden);
  const Value modulation =
      modulation_of(tape, weights.of(WeightKind::other_matrix).front(), condition, 6);
  const auto half = [&](const std::string& name, const auto& run) {
    const Value normed = norm(tape, name + ".norm", hidden, nullptr);
    const Value output = run(modulate(tape, name + ".modulate", normed, modulation));
    hidden = residual(tape, name + ".residual", hidden,
                      modulate(tape, name + ".gate", output, modulation));
  };
  half("attention", [&](Value x) { return attention_half(tape, weights, {}, x); });
  half("ffn", [&](Value x) { return feed_forward(tape, weights, x); });
  tape.mark_residual(hidden);
  tape.end_layer(hidden);
  return hidden;
}

void diffusion_head(Tape& tape, std::uint32_t layer, Value hidden, Value condition) {
  const Architecture& a = tape.architecture();
  const LayerWeights weights(tape.model(), layer);
  const auto& matrices = weights.of(WeightKind::other_matrix);
  tape.begin_layer(layer, hidden);
  const Value modulation = modulation_of(tape, matrices.at(1), condition, 2);
  const Value normed = norm(tape, "norm", hidden, nullptr);
  const Value x = modulate(tape, "modulate", normed, modulation);
  const std::uint64_t elements = tape.tokens() * a.patch_outputs;
  const Value predicted = tape.value("predicted", elements);
  matmul(tape, "final", x, matrices.at(0), tape.tokens(), a.hidden, {predicted});
  const TensorId noise = tape.tensor("noise", elements, tape.element(), TensorRole::input);
  tape.add("loss", OperatorFunction::squared_loss,
           {{predicted.tensor, Access::read}, {noise, Access::read}}, {predicted.tensor});
  tape.on_backward([&tape, predicted, noise] {
    std::vector<Operand> back{{noise, Access::read}};
    tape.replace_by_gradient(back, predicted);
    tape.add("loss.backward", OperatorFunction::squared_loss_backward, std::move(back));
  });
  tape.end_layer(std::nullopt);
}

}  // namespace spillway::models
