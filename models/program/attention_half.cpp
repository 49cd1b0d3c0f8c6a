#include "models/program/operators.hpp"

#include <algorithm>

namespace spillway::models {

namespace {

struct Projections {
  Value query, key, value;
  std::optional<Value> gate;
};

bool rotates(const Architecture& a, const BlockTraits& traits) {
  return traits.rotary && !a.alibi && a.learned_positions == 0 &&
         a.relative_position_buckets == 0 && !a.is_diffusion();
}

/// Queries, or keys, normed each head by itself or all at once.
Value head_norm(Tape& tape, const LayerWeights& weights, WeightKind kind, const std::string& name,
                Value x) {
  const Architecture& a = tape.architecture();
  if (a.head_norm == HeadNorm::none) return x;
  const std::uint64_t width =
      a.head_norm == HeadNorm::whole ? tape.elements(x) / tape.rows(x) : a.head_dim;
  if (a.head_norm == HeadNorm::per_head && tape.is_split())
    mark_partial(tape, weights.of(kind).front());
  return norm_rows(tape, name, x, &weights.of(kind).front(), width);
}

/// Keys and values of their own matrices, or values that are the keys before their norm.
void project_keys(Tape& tape, const LayerWeights& weights, const AttentionHalf& half, Value source,
                  Projections& p) {
  const Architecture& a = tape.architecture();
  const std::uint64_t rows = tape.tokens();
  matmul(tape, half.prefix + ".key", source, weights.of(WeightKind::key).at(half.number), rows,
         a.hidden, {p.key});
  if (half.traits.keys_are_values)
    p.value = p.key;
  else
    matmul(tape, half.prefix + ".value", source, weights.of(WeightKind::value).at(half.number),
           rows, a.hidden, {p.value});
}

Projections project(Tape& tape, const LayerWeights& weights, const AttentionHalf& half, Value x) {
  const Architecture& a = tape.architecture();
  const std::uint64_t rows = tape.tokens();
  const std::string& prefix = half.prefix;
  Projections p{tape.value(prefix + ".query", rows * tape.split(a.query_width())),
                tape.value(prefix + ".key", rows * tape.split(a.kv_width())),
                {},
                {}};
  if (!half.traits.keys_are_values)
    p.value = tape.value(prefix + ".value", rows * tape.split(a.value_width()));
  const Linear& query = weights.of(WeightKind::query).at(half.number);
  if (!weights.has(WeightKind::key)) {
    matmul(tape, prefix + ".qkv", x, query, rows, a.hidden, {p.query, p.key, p.value});
  } else {
    std::vector<Value> queries{p.query};
    if (a.attention_gate) {
      p.gate = tape.value(prefix + ".gate", tape.elements(p.query));
      queries.push_back(*p.gate);
    }
    matmul(tape, prefix + ".query", x, query, rows, a.hidden, queries);
    project_keys(tape, weights, half, half.source.value_or(x), p);
  }
  if (a.value_norm)
    p.value = norm_rows(tape, prefix + ".value_norm", p.value, nullptr,
                        a.value_dim == 0 ? a.head_dim : a.value_dim);
  p.query = head_norm(tape, weights, WeightKind::query_norm, prefix + ".query_norm", p.query);
  p.key = head_norm(tape, weights, WeightKind::key_norm, prefix + ".key_norm", p.key);
  if (rotates(a, half.traits)) rope(tape, p.query, p.key, a.head_dim, a.head_dim);
  return p;
}

/// Queries by way of their latent, or straight from the hidden states.
Value latent_query(Tape& tape, const LayerWeights& weights, const std::string& prefix, Value x,
                   Value& normed) {
  const Architecture& a = tape.architecture();
  const std::uint64_t rows = tape.tokens(), rank = a.latent.query_rank;
  const Value query = tape.value(prefix + ".query", rows * tape.split(a.query_width()));
  const Linear& matrix = weights.of(WeightKind::query).front();
  if (rank == 0) {
    matmul(tape, prefix + ".query", enter_split(tape, x), matrix, rows, a.hidden, {query});
    return query;
  }
  const Value latent = tape.value_beside(x, prefix + ".query_latent", rank);
  matmul(tape, prefix + ".query_latent", x, weights.of(WeightKind::query_latent).front(),
         tape.rows(x), a.hidden, {latent});
  normed = norm_rows(tape, prefix + ".query_latent.norm", latent,
                     &weights.of(WeightKind::query_norm).front(), rank);
  matmul(tape, prefix + ".query", enter_split(tape, normed), matrix, rows, rank, {query});
  return query;
}

/// Chooses tokens, which later blocks may share: then they are kept like hidden states.
void choose(Tape& tape, const LayerWeights& weights, const AttentionHalf& half, Value x,
            Value query_latent) {
  const TensorId chosen = choose_tokens(tape, weights, half.prefix + ".index", x, query_latent);
  *half.chosen = chosen;
  const auto& blocks = tape.model().architecture.blocks;
  if (std::any_of(blocks.begin(), blocks.end(), [](const auto& b) { return !b.own_index; }))
    tape.mark_residual({chosen, 0});
}

/// Keys and values from their latent; the rotated part of a key is one for all heads.
///   Source  DeepSeek-V2 (2024), 2.1
Projections latent_projections(Tape& tape, const LayerWeights& weights, const AttentionHalf& half,
                               Value x) {
  const Architecture& a = tape.architecture();
  const LatentAttention& l = a.latent;
  const std::uint64_t rows = tape.tokens();
  const std::string& prefix = half.prefix;
  Projections p;
  Value query_latent = x;
  p.query = latent_query(tape, weights, prefix, x, query_latent);
  if (weights.has(WeightKind::index_query)) choose(tape, weights, half, x, query_latent);
  const Value latent = tape.value_beside(x, prefix + ".key_latent", l.kv_rank);
  const Value rotated = tape.value_beside(x, prefix + ".key_rotated", l.rotated);
  matmul(tape, prefix + ".key_latent", x, weights.of(WeightKind::key_latent).front(), tape.rows(x),
         a.hidden, {latent, rotated});
  const Value normed = norm_rows(tape, prefix + ".key_latent.norm", latent,
                                 &weights.of(WeightKind::key_norm).front(), l.kv_rank);
  const Value unrotated =
      tape.value(prefix + ".key_unrotated", rows * tape.split(a.heads * l.unrotated));
  p.value = tape.value(prefix + ".value", rows * tape.split(a.value_width()));
  matmul(tape, prefix + ".key_value", enter_split(tape, normed),
         weights.of(WeightKind::key_value).front(), rows, l.kv_rank, {unrotated, p.value});
  const Value shared = enter_split(tape, rotated);
  if (rotates(a, half.traits)) rope(tape, p.query, shared, a.head_dim, l.rotated);
  p.key = tape.value(prefix + ".key", rows * tape.split(a.kv_width()));
  elementwise(tape, prefix + ".key",
              {OperatorFunction::join_key, OperatorFunction::join_key_backward},
              {unrotated, shared}, {p.key}, {});
  return p;
}

}  // namespace

Value attention_half(Tape& tape, const LayerWeights& weights, const AttentionHalf& half, Value x) {
  const Architecture& a = tape.architecture();
  const Projections p = a.has_latents() ? latent_projections(tape, weights, half, x)
                                        : project(tape, weights, half, enter_split(tape, x));
  const std::uint64_t width = tape.split(a.attention_width());
  AttentionCall call;
  call.prefix = half.prefix;
  call.query = exchange_heads(tape, half.prefix + ".query_heads", p.query);
  call.key = exchange_heads(tape, half.prefix + ".key_heads", p.key);
  call.value = half.traits.keys_are_values && !a.value_norm && p.value.tensor == p.key.tensor
                   ? call.key
                   : exchange_heads(tape, half.prefix + ".value_heads", p.value);
  call.output = tape.value(half.prefix + ".output", tape.tokens() * width);
  call.causal = half.causal;
  call.window = half.traits.window;
  call.chunked = half.traits.chunked;
  if (a.index.chosen > 0 && half.chosen != nullptr) {
    call.chosen = *half.chosen;
    call.window = a.index.chosen;
  }
  if (half.relative_positions) call.tables.push_back(*half.relative_positions);
  if (a.attention_sinks) call.tables.push_back(weights.of(WeightKind::sinks).front().matrices[0]);
  attention(tape, call);
  call.output = exchange_tokens(tape, half.prefix + ".output_heads", call.output);
  if (p.gate) {
    const Value gated = tape.value(half.prefix + ".gated", tape.elements(call.output));
    elementwise(tape, half.prefix + ".gated",
                {OperatorFunction::output_gate, OperatorFunction::output_gate_backward},
                {call.output, *p.gate}, {gated}, {call.output.tensor, p.gate->tensor});
    call.output = gated;
  }
  const Value output = tape.value(half.prefix + ".projection", tape.tokens() * a.hidden);
  matmul(tape, half.prefix + ".projection", call.output,
         weights.of(WeightKind::attention_output).at(half.number), tape.tokens(), width, {output});
  return leave_split(tape, output);
}

}  // namespace spillway::models
