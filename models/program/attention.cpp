#include "models/program/operators.hpp"

namespace spillway::models {

namespace {

/// What an attention saves beside queries, keys and values, and its scratch.
struct AttentionSizes {
  std::vector<TensorId> saved;
  Bytes workspace;      ///< forward
  Bytes extra_traffic;  ///< forward, beyond one pass over the operands
  Bytes backward_workspace;
  Bytes backward_traffic;
};

AttentionSizes flash_sizes(Tape& tape, const AttentionCall& call, const std::string& prefix) {
  AttentionSizes sizes;
  const std::uint64_t heads = tape.split(tape.architecture().heads);
  sizes.saved = {call.output.tensor,
                 tape.tensor(prefix + ".log_sum_exp", tape.tokens() * heads, 4)};
  // 16-bit kernels sum the gradient of the queries in fp32.
  if (tape.element() < 4) {
    sizes.backward_workspace = Bytes(tape.elements(call.query) * 4);
    sizes.backward_traffic = sizes.backward_workspace * 2;
  }
  return sizes;
}

// Scores are scratch; their softmax, and with dropout the mask and the dropped softmax, are kept;
// so is what a cap makes of scores.
AttentionSizes materialized_sizes(Tape& tape, const std::string& prefix) {
  AttentionSizes sizes;
  const Workload& w = tape.workload();
  const bool caps = tape.architecture().attention_softcap;
  const std::uint64_t scores = w.tokens() * w.sequence * tape.split(tape.architecture().heads);
  const Bytes bytes(scores * tape.element());
  if (caps) sizes.saved.push_back(tape.tensor(prefix + ".capped_scores", scores, tape.element()));
  sizes.saved.push_back(tape.tensor(prefix + ".softmax", scores, tape.element()));
  if (w.dropout_of_attention() > 0) {
    sizes.saved.push_back(tape.tensor(prefix + ".dropout_mask", scores, 1));
    sizes.saved.push_back(tape.tensor(prefix + ".dropped_softmax", scores, tape.element()));
  }
  sizes.workspace = bytes;
  // Scores are written and read, the softmax is read, by dropout once more, capped scores too.
  sizes.extra_traffic = bytes * (3u + (w.dropout_of_attention() > 0 ? 1u : 0u) + (caps ? 1u : 0u));
  // The gradients of softmax and of scores: each written and read, the latter read twice.
  sizes.backward_workspace = bytes * 2u;
  sizes.backward_traffic = bytes * (caps ? 7u : 5u);
  return sizes;
}

/// Scores that flash attention computes of `tokens` that see each other: it leaves out what a
/// window hides.
double scores_of(const Workload& w, const AttentionCall& call, std::uint64_t tokens) {
  const double s = static_cast<double>(tokens), window = static_cast<double>(call.window);
  const bool skips = call.causal && w.causal_skip;
  if (call.window == 0 || call.window >= tokens) return skips ? s * s / 2 : s * s;
  if (!call.chunked) return skips ? s * window - window * window / 2 : s * window;
  const double rest = static_cast<double>(tokens % call.window);
  const double square = (s - rest) * window + rest * rest;
  return skips ? square / 2 : square;
}

/// Scores of a sequence; materialized ones are computed whole, and masked.
double scores_of(const Workload& w, const AttentionCall& call) {
  const double s = static_cast<double>(w.sequence);
  if (w.attention != Attention::flash) return s * s;
  if (w.document == 0 || w.document >= w.sequence) return scores_of(w, call, w.sequence);
  return static_cast<double>(w.sequence / w.document) * scores_of(w, call, w.document) +
         scores_of(w, call, w.sequence % w.document);
}

Flops attention_flops(const Tape& tape, const AttentionCall& call) {
  const Workload& w = tape.workload();
  const Architecture& a = tape.architecture();
  std::uint64_t widths = tape.split(a.query_width()) + tape.split(a.attention_width());
  // Chosen tokens differ from query to query: what is gathered are latents, one for all heads.
  if (call.chosen && w.sequence > a.index.chosen && w.attention == Attention::flash)
    widths = tape.split(a.heads) * (2 * a.latent.kv_rank + a.latent.rotated);
  return Flops(2 * static_cast<double>(w.micro_batch) * scores_of(w, call) *
               static_cast<double>(widths) / static_cast<double>(w.context));
}

}  // namespace

void attention(Tape& tape, const AttentionCall& call) {
  if (tape.workload().context > 1 && tape.workload().context_in_ring)
    return ring_attention(tape, call, attention_flops(tape, call));
  const std::string& prefix = call.prefix;
  const bool flash = tape.workload().attention == Attention::flash;
  const AttentionSizes sizes =
      flash ? flash_sizes(tape, call, prefix) : materialized_sizes(tape, prefix);
  const Flops flops = attention_flops(tape, call);
  std::vector<TensorId> saved{call.query.tensor, call.key.tensor, call.value.tensor};
  std::vector<Operand> operands;
  if (call.chosen) saved.push_back(*call.chosen);
  for (const TensorId input : saved) operands.push_back({input, Access::read});
  for (const std::uint32_t table : call.tables) operands.push_back({table, Access::read});
  operands.push_back({call.output.tensor, Access::write});
  for (const TensorId tensor : sizes.saved)
    if (tensor != call.output.tensor) operands.push_back({tensor, Access::write});
  saved.insert(saved.end(), sizes.saved.begin(), sizes.saved.end());
  Operator& forward = tape.add(prefix, OperatorFunction::attention, std::move(operands), saved);
  const std::uint32_t draw = tape.next_draw();
  forward.causal = call.causal;
  forward.draw = draw;
  forward.flops = flops;
  forward.workspace = sizes.workspace;
  forward.bytes += sizes.extra_traffic;
  tape.on_backward([&tape, call, flops, sizes, draw, saved = std::move(saved)] {
    std::vector<Operand> back{tape.gradient(call.output)};
    for (const TensorId tensor : saved) back.push_back({tensor, Access::read});
    for (const Value& input : {call.query, call.key, call.value}) tape.accumulate(back, input);
    for (const std::uint32_t table : call.tables) {
      back.push_back({table, Access::read});
      back.push_back(tape.weight_gradient(table));
    }
    Operator& backward =
        tape.add(call.prefix + ".backward", OperatorFunction::attention_backward, std::move(back));
    backward.causal = call.causal;
    backward.draw = draw;
    backward.flops = flops * 2.0;
    backward.workspace = sizes.backward_workspace;
    backward.bytes += sizes.backward_traffic;
  });
}

}  // namespace spillway::models
