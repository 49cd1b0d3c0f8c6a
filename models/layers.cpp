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
  if (a.learned_positions == 0 && a.relative_position_buckets == 0) rope(tape, p.query, p.key);
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
