#include "models/program/operators.hpp"

#include <algorithm>

namespace spillway::models {

namespace {

Flops twice(double multiplications) { return Flops(2 * multiplications); }

/// `x` times a matrix, whose gradient goes no further than the matrix.
Value detached_product(Tape& tape, const std::string& name, Value x, const Linear& weights,
                       std::uint64_t width) {
  const std::uint64_t rows = tape.tokens(), inputs = tape.elements(x) / rows;
  const std::uint32_t matrix = weights.matrices.front();
  const Value y = tape.value(name, rows * width);
  const Flops flops =
      twice(static_cast<double>(rows) * static_cast<double>(inputs) * static_cast<double>(width));
  Operator& forward = tape.add(
      name, OperatorFunction::product,
      {{x.tensor, Access::read}, {matrix, Access::read}, {y.tensor, Access::write}}, {x.tensor});
  forward.flops = flops;
  forward.gemm = {rows, width, inputs, 1};
  tape.on_backward([&tape, name, x, y, matrix, flops, rows, inputs, width] {
    Operator& back =
        tape.add(name + ".wgrad", OperatorFunction::product_weight_gradient,
                 {tape.gradient(y), {x.tensor, Access::read}, tape.weight_gradient(matrix)});
    back.flops = flops;
    back.gemm = {width, inputs, rows, 1};
  });
  return y;
}

/// Scores of a sequence: all that come before, and those of the chosen tokens.
struct Scores {
  double all = 0, chosen = 0;
};
Scores scores_of(const Workload& w, std::uint64_t most) {
  const double s = static_cast<double>(w.sequence), k = static_cast<double>(most);
  const bool skips = w.causal_skip && w.attention == Attention::flash;
  Scores scores;
  scores.all = skips ? s * s / 2 : s * s;
  scores.chosen = w.sequence <= most ? scores.all : skips ? s * k - k * k / 2 : s * k;
  return scores;
}

}  // namespace

TensorId choose_tokens(Tape& tape, const LayerWeights& weights, const std::string& prefix, Value x,
                       Value latent) {
  const Workload& w = tape.workload();
  const TokenIndex& index = tape.architecture().index;
  const auto one = [&](WeightKind kind) -> const Linear& { return weights.of(kind).front(); };
  const Value query = detached_product(tape, prefix + ".query", latent,
                                       one(WeightKind::index_query), index.heads * index.head_dim);
  const Value narrow =
      detached_product(tape, prefix + ".key", x, one(WeightKind::index_key), index.head_dim);
  const Value key =
      norm_rows(tape, prefix + ".key_norm", narrow, &one(WeightKind::index_norm), index.head_dim);
  rope(tape, query, key, index.head_dim, index.head_dim);
  const Value shares =
      detached_product(tape, prefix + ".shares", x, one(WeightKind::index_share), index.heads);
  const std::uint64_t each = std::min(index.chosen, w.sequence);
  const TensorId chosen = tape.tensor(prefix + ".chosen", tape.tokens() * each, 4);
  const Scores scores = scores_of(w, index.chosen);
  const double per_score = static_cast<double>(w.micro_batch * index.heads * index.head_dim);
  const std::vector<TensorId> saved{query.tensor, key.tensor, shares.tensor, chosen};
  tape.add(prefix, OperatorFunction::choose_tokens,
           {{query.tensor, Access::read},
            {key.tensor, Access::read},
            {shares.tensor, Access::read},
            {chosen, Access::write}},
           saved)
      .flops = twice(scores.all * per_score);
  tape.on_backward([&tape, prefix, query, key, shares, saved, scores, per_score] {
    std::vector<Operand> back;
    for (const TensorId tensor : saved) back.push_back({tensor, Access::read});
    for (const Value& input : {query, key, shares}) tape.accumulate(back, input);
    tape.add(prefix + ".backward", OperatorFunction::choose_tokens_backward, std::move(back))
        .flops = twice(2 * scores.chosen * per_score);
  });
  return chosen;
}

}  // namespace spillway::models
