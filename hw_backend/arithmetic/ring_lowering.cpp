#include "hw_backend/arithmetic/operands.hpp"
#include "scenarios/description/errors.hpp"

#include <array>

/// Attention of a context rank's queries to the keys of one rank of its ring.
namespace spillway::hw_backend {

namespace {

/// A piece of the queries and a piece of the keys that it sees, all of them or, where both are the
/// same piece of the sample, those up to itself.
struct Pair {
  std::uint64_t query = 0, key = 0;
  bool diagonal = false;
  bool first_of_query = true, first_of_key = true;  ///< no pair before it has the same piece
};

/// Which of the layer's blocks a kernel is for: blocks come in order, each with keys of its own.
std::uint64_t block_of(const Call& call) {
  const models::StepProgram& program = *call.lowering.program;
  const models::LayerSpan& layer = program.layers.at(call.op.layer);
  const bool back = call.op.function == models::OperatorFunction::attention_block_backward;
  const std::size_t key = back ? 2 : 1;
  const models::Span& pass = back ? layer.backward : layer.forward;
  std::uint64_t block = 0;
  for (std::uint32_t i = pass.first; i < pass.last; ++i) {
    const models::Operator& op = program.operators[i];
    if (op.function != call.op.function) continue;
    if (op.operands[key].tensor == call.op.operands[key].tensor) return block;
    ++block;
  }
  ENSURE(false, call.op.name + " is in no layer");
}

/// A call for pieces: each rank has two of every sample, of one length.
struct Pieces {
  explicit Pieces(const Call& block_call) : call(block_call), shape(call.attention_shape()) {
    const std::uint64_t ranks = call.workload().context;
    const TokenShare mine = call.share();
    const TokenShare theirs =
        call.share_of((call.moment.share + ranks - block_of(call) % ranks) % ranks);
    tokens = mine.tokens;
    samples = shape.samples;
    shape.samples = 1;
    shape.sequence = tokens / 2;
    std::array<bool, 2> queries{}, keys{};
    for (const std::uint64_t query : {0u, 1u})
      for (const std::uint64_t key : {0u, 1u}) {
        const std::uint64_t from = query == 0 ? mine.first : mine.second;
        const std::uint64_t to = key == 0 ? theirs.first : theirs.second;
        if (call.op.causal && to > from) continue;
        pairs.push_back({query, key, call.op.causal && to == from, !queries[query], !keys[key]});
        queries[query] = keys[key] = true;
      }
    for (const std::uint64_t key : {0u, 1u})
      if (!keys[key]) unseen.push_back(key);
  }

  /// Calls work(pair, first row of the queries, of the keys, shape) for each sample.
  template <class Work>
  void for_each(const Work& work) {
    for (std::uint64_t sample = 0; sample < samples; ++sample)
      for (const Pair& pair : pairs) {
        shape.causal = pair.diagonal;
        work(pair, row_of(sample, pair.query), row_of(sample, pair.key), shape);
      }
  }
  std::uint64_t row_of(std::uint64_t sample, std::uint64_t piece) const {
    return sample * tokens + piece * shape.sequence;
  }
  std::uint64_t width() const { return shape.heads * shape.head_dim; }
  std::uint64_t key_width() const { return shape.kv_heads * shape.head_dim; }
  std::uint64_t value_width() const { return shape.kv_heads * shape.value_elements(); }
  std::uint64_t output_width() const { return shape.heads * shape.value_elements(); }

  const Call& call;
  AttentionShape shape;
  std::uint64_t tokens = 0, samples = 0;
  std::vector<Pair> pairs;
  std::vector<std::uint64_t> unseen;  ///< pieces of the keys that no query here sees
};

Output adding(Output y, bool adds) { return {y.data, y.type, adds}; }

}  // namespace

void attention_block(const Call& call) {
  Pieces pieces(call);
  OperandReader operands(call);
  const Operand query = operands.take(), key = operands.take(), value = operands.take();
  const Operand output = operands.take(), sums = operands.take();
  pieces.for_each(
      [&](const Pair& pair, std::uint64_t row, std::uint64_t kv_row, const AttentionShape& shape) {
        AttentionForward forward;
        forward.query = from(query.read(), row * pieces.width());
        forward.key = from(key.read(), kv_row * pieces.key_width());
        forward.value = from(value.read(), kv_row * pieces.value_width());
        forward.output = from(output.replace(), row * pieces.output_width());
        forward.log_sum_exp = sums.floats() + row * shape.heads;
        forward.grows = output.add || !pair.first_of_query;
        call.device.attention(shape, forward);
      });
}

void attention_block_backward(const Call& call) {
  Pieces pieces(call);
  OperandReader operands(call);
  const Operand gradient = operands.take(), query = operands.take(), key = operands.take();
  const Operand value = operands.take(), output = operands.take(), sums = operands.take();
  const Operand query_gradient = operands.take(), key_gradient = operands.take();
  const Operand value_gradient = operands.take();
  pieces.for_each([&](const Pair& pair, std::uint64_t row, std::uint64_t kv_row,
                      const AttentionShape& shape) {
    const std::uint64_t at = row * pieces.width(), output_at = row * pieces.output_width();
    const std::uint64_t key_at = kv_row * pieces.key_width();
    const std::uint64_t value_at = kv_row * pieces.value_width();
    AttentionBackward backward;
    backward.output_gradient = from(gradient.read(), output_at);
    backward.query = from(query.read(), at);
    backward.key = from(key.read(), key_at);
    backward.value = from(value.read(), value_at);
    backward.output = from(output.read(), output_at);
    backward.log_sum_exp = sums.floats() + row * shape.heads;
    backward.query_gradient =
        adding(from(query_gradient.write(), at), query_gradient.add || !pair.first_of_query);
    backward.key_gradient = adding(from(key_gradient.write(), key_at), !pair.first_of_key);
    backward.value_gradient = adding(from(value_gradient.write(), value_at), !pair.first_of_key);
    backward.workspace = reinterpret_cast<float*>(call.workspace);
    call.device.attention_backward(shape, backward);
  });
  for (std::uint64_t sample = 0; sample < pieces.samples; ++sample)
    for (const std::uint64_t piece : pieces.unseen)
      for (const auto& [made, width] : {std::pair(key_gradient, pieces.key_width()),
                                        std::pair(value_gradient, pieces.value_width())}) {
        const Output at = from(made.write(), pieces.row_of(sample, piece) * width);
        call.device.zero(at.data, pieces.shape.sequence * width * size_of(at.type));
      }
}

}  // namespace spillway::hw_backend
