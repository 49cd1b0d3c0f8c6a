#include "models/layers.hpp"

#include "models/operators.hpp"

namespace spillway::models {

namespace {

std::optional<std::uint32_t> relative_table(const Model& model, std::uint32_t layer) {
  for (const std::uint32_t weight : model.used_by(layer))
    if (model.weights[weight].kind == WeightKind::positions) return weight;
  return std::nullopt;
}

struct Half {
  std::string prefix;
  std::size_t number = 0;  ///< which attention of the block
  Value source;            ///< of keys and values
  bool is_cross = false;
  bool causal = false;
};

struct Projections {
  Value query, key, value;
};

Projections project(Tape& tape, const LayerWeights& weights, const Half& half, Value x) {
  const Architecture& a = tape.architecture();
  const std::uint64_t rows = tape.tokens();
  const std::uint64_t queries = rows * tape.split(a.query_width());
  const std::uint64_t keys = rows * tape.split(a.kv_width());
  const Projections p{tape.value(half.prefix + ".query", queries),
                      tape.value(half.prefix + ".key", keys),
                      tape.value(half.prefix + ".value", keys)};
  const Linear& query = weights.of(WeightKind::query).at(half.number);
  if (!weights.has(WeightKind::key)) {
    matmul(tape, half.prefix + ".qkv", x, query, rows, a.hidden, {p.query, p.key, p.value});
    return p;
  }
  matmul(tape, half.prefix + ".query", x, query, rows, a.hidden, {p.query});
  matmul(tape, half.prefix + ".key", half.source, weights.of(WeightKind::key).at(half.number), rows,
         a.hidden, {p.key});
  matmul(tape, half.prefix + ".value", half.source, weights.of(WeightKind::value).at(half.number),
         rows, a.hidden, {p.value});
  return p;
}

/// An attention half without norm and residual: its output, whole on each rank.
Value attention_half(Tape& tape, const LayerWeights& weights, Half half, Value x,
                     std::optional<std::uint32_t> relative_positions) {
  const Architecture& a = tape.architecture();
  const Value input = enter_split(tape, x);
  if (!half.is_cross) half.source = input;
  const Projections p = project(tape, weights, half, input);
  if (a.learned_positions == 0 && a.relative_position_buckets == 0 && !a.is_diffusion())
    rope(tape, p.query, p.key);
  const std::uint64_t width = tape.split(a.query_width());
  AttentionCall call;
  call.prefix = half.prefix;
  call.query = p.query;
  call.key = p.key;
  call.value = p.value;
  call.output = tape.value(half.prefix + ".output", tape.tokens() * width);
  call.causal = half.causal;
  call.relative_positions = relative_positions;
  attention(tape, call);
  const Value output = tape.value(half.prefix + ".projection", tape.tokens() * a.hidden);
  matmul(tape, half.prefix + ".projection", call.output,
         weights.of(WeightKind::attention_output).at(half.number), tape.tokens(), width, {output});
  leave_split(tape, output);
  return output;
}

/// Looks up token, position and type embeddings; one row of each table a token.
Value look_up(Tape& tape, const std::string& name, const LayerWeights& weights,
              std::uint64_t width) {
  const TensorId tokens = tape.tensor(name + ".tokens", tape.tokens(), 8, TensorRole::input);
  const Value hidden = tape.value(name, tape.tokens() * width);
  std::vector<std::uint32_t> tables = weights.of(WeightKind::embedding).front().matrices;
  if (tape.architecture().learned_positions > 0)
    tables.push_back(weights.of(WeightKind::positions).front().matrices.front());
  if (tape.architecture().token_types > 0)
    tables.push_back(weights.of(WeightKind::other_matrix).front().matrices.front());
  std::vector<Operand> operands{{tokens, Access::read}};
  for (const std::uint32_t table : tables) operands.push_back({table, Access::read});
  operands.push_back({hidden.tensor, Access::write});
  const Bytes rows(tape.elements(hidden) * tape.element());
  tape.add(name, OperatorFunction::embedding, std::move(operands)).bytes =
      rows * (tables.size() + 1);
  tape.on_backward([&tape, name, tokens, hidden, tables, rows] {
    std::vector<Operand> back{{tokens, Access::read}, tape.gradient(hidden)};
    for (const std::uint32_t table : tables) back.push_back(tape.weight_gradient(table));
    tape.add(name + ".backward", OperatorFunction::embedding_backward, std::move(back)).bytes =
        rows * (2 * tables.size() + 1);
  });
  return hidden;
}

}  // namespace

Embedded embedding(Tape& tape, std::uint32_t layer) {
  const Architecture& a = tape.architecture();
  const LayerWeights weights(tape.model(), layer);
  tape.begin_layer(layer, std::nullopt);
  const auto embed = [&](const std::string& name) {
    Value hidden = look_up(tape, name, weights, a.embedding_width);
    leave_split(tape, hidden);
    if (a.embedding_width != a.hidden) {
      const Value wide = tape.value(name + ".projected", tape.tokens() * a.hidden);
      matmul(tape, name + ".project_in", hidden, weights.of(WeightKind::other_matrix).back(),
             tape.tokens(), a.embedding_width, {wide});
      hidden = wide;
    }
    if (a.embedding_norm)
      hidden = norm(tape, name + ".norm", hidden, &weights.of(WeightKind::norm).front());
    if (drops_hidden(tape)) dropout(tape, name + ".dropout", hidden);
    tape.mark_residual(hidden);
    return hidden;
  };
  Embedded embedded{embed("hidden"), std::nullopt};
  if (a.stack == Stack::encoder_decoder) embedded.decoder = embed("decoder_hidden");
  tape.end_layer(embedded.first);
  return embedded;
}

Value block(Tape& tape, std::uint32_t layer, Value hidden, bool causal,
            std::optional<Value> encoder) {
  const LayerWeights weights(tape.model(), layer);
  const auto& norms = weights.of(WeightKind::norm);
  const bool norm_last = !tape.architecture().final_norm;  // BERT and the smallest OPT
  tape.begin_layer(layer, hidden);
  std::size_t next_norm = 0;
  const auto around = [&](const std::string& name, const auto& half) {
    const std::string norm_name = name + ".norm";
    const Linear* own = &norms.at(next_norm++);
    if (!norm_last) {
      const Value normed = norm(tape, norm_name, hidden, own);
      hidden = residual(tape, name + ".residual", hidden, half(normed));
    } else {
      const Value sum = residual(tape, name + ".residual", hidden, half(hidden));
      hidden = norm(tape, norm_name, sum, own);
    }
  };
  around("attention", [&](Value x) {
    return attention_half(tape, weights, {"attention", 0, {}, false, causal}, x,
                          relative_table(tape.model(), layer));
  });
  if (encoder)
    around("cross_attention", [&](Value x) {
      return attention_half(tape, weights, {"cross_attention", 1, *encoder, true, false}, x,
                            std::nullopt);
    });
  around("ffn", [&](Value x) { return feed_forward(tape, weights, x); });
  tape.mark_residual(hidden);
  tape.end_layer(hidden);
  return hidden;
}

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
  half("attention", [&](Value x) {
    return attention_half(tape, weights, {"attention", 0, {}, false, false}, x, std::nullopt);
  });
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

Value encoder_norm(Tape& tape, std::uint32_t layer, Value hidden) {
  const LayerWeights weights(tape.model(), layer);
  tape.begin_layer(layer, hidden);
  const Value normed = norm(tape, "norm", hidden, &weights.of(WeightKind::norm).front());
  tape.mark_residual(normed);
  const Value output = enter_split(tape, normed);
  tape.end_layer(output);
  return output;
}

}  // namespace spillway::models
