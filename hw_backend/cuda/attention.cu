#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"
#include "hw_backend/cuda/softmax.cuh"

namespace spillway::hw_backend {

namespace {

constexpr std::uint64_t most_queries = 256, fewest_queries = 64;
// What the L2 of an H100 (50 MB) holds beside keys and values, so that scores come back from there
// and not from memory. Of 4096 tokens of 128 elements these are 4 heads forward and 2 backward,
// whose products are 256 and 128 tiles of 128 x 128 for its 132 processors.
constexpr std::uint64_t forward_bytes = 24u << 20, backward_bytes = 48u << 20;

/// Queries [first, first + rows) and the keys [0, keys) that any of them sees, of the heads
/// kv_head x group + member for `heads` key heads from `kv_head` on.
struct Block {
  std::uint64_t sample, kv_head, heads, member, first, rows, keys;
};

/// Every part of scratch begins where a tensor may.
std::uint64_t in_lines(std::uint64_t bytes) { return divided_up(bytes, 256) * 256; }

/// How attention is cut: by the shape alone.
struct Cut {
  std::uint64_t queries;  ///< at most, of a block
  std::uint64_t heads;    ///< key heads at once
};

/// most                bytes of scratch, where 64 queries do not take more
/// per_score, per_key  bytes of scratch for each score and each token of a key head
Cut cut(const AttentionShape& shape, std::uint64_t most, std::uint64_t per_score,
        std::uint64_t per_key) {
  const auto bytes = [&](std::uint64_t queries) {
    return shape.sequence * (queries * per_score + per_key);
  };
  std::uint64_t queries = most_queries;
  while (queries > fewest_queries && bytes(queries) > most) queries /= 2;
  const std::uint64_t fit = std::max<std::uint64_t>(1, most / bytes(queries));
  return {std::min(queries, shape.sequence), std::min(fit, shape.kv_heads)};
}

/// Calls work(block) for the blocks of queries of some heads, in order.
template <class Work>
void for_blocks(const AttentionShape& shape, const Cut& cut, std::uint64_t sample,
                std::uint64_t kv_head, const Work& work) {
  const std::uint64_t heads = std::min(cut.heads, shape.kv_heads - kv_head);
  for (std::uint64_t member = 0; member < shape.heads / shape.kv_heads; ++member)
    for (std::uint64_t first = 0; first < shape.sequence; first += cut.queries) {
      const std::uint64_t rows = std::min(cut.queries, shape.sequence - first);
      work(Block{sample, kv_head, heads, member, first, rows,
                 shape.causal ? first + rows : shape.sequence});
    }
}

/// Where the block's first query head has its row, in heads of [samples x sequence, heads].
std::uint64_t first_query(const AttentionShape& shape, const Block& block) {
  const std::uint64_t head = block.kv_head * (shape.heads / shape.kv_heads) + block.member;
  const std::uint64_t row = block.sample * shape.sequence + block.first;
  return row * shape.heads + head;
}

/// Rows of query heads, of `elements` each: queries have head_dim, outputs value_elements().
MatrixInput queries_of(const AttentionShape& shape, const Block& block, Input x,
                       std::uint64_t elements) {
  x.data += first_query(shape, block) * elements * size_of(x.type);
  return {x, shape.heads * elements, false, shape.heads / shape.kv_heads * elements};
}
MatrixOutput queries_of(const AttentionShape& shape, const Block& block, Output y,
                        std::uint64_t elements) {
  y.data += first_query(shape, block) * elements * size_of(y.type);
  return {y, shape.heads * elements, shape.heads / shape.kv_heads * elements};
}

std::uint64_t first_key(const AttentionShape& shape, std::uint64_t sample, std::uint64_t kv_head) {
  return sample * shape.sequence * shape.kv_heads + kv_head;
}
/// Likewise of keys, or of values.
MatrixInput keys_of(const AttentionShape& shape, const Block& block, Input x, bool transposed,
                    std::uint64_t elements) {
  x.data += first_key(shape, block.sample, block.kv_head) * elements * size_of(x.type);
  return {x, shape.kv_heads * elements, transposed, elements};
}

/// Scores of a block in scratch [heads, rows, keys].
MatrixInput scores_of(const Block& block, const std::byte* data, Element type,
                      bool transposed = false) {
  return {{data, type}, block.keys, transposed, block.rows * block.keys};
}

}  // namespace

namespace on_device {

namespace {

/// The row of a block that a CUDA block works on.
struct Row {
  std::uint64_t token;    ///< of the micro-batch
  std::uint64_t head;     ///< of queries
  std::uint64_t seen;     ///< keys
  std::uint64_t score;    ///< its first in scratch
  std::uint64_t element;  ///< its first for the dropout
};

__device__ Row row_of(const AttentionShape& shape, const Block& block, std::uint64_t index) {
  const std::uint64_t query = block.first + index % block.rows;
  const std::uint64_t kv_head = block.kv_head + index / block.rows;
  Row row = {};
  row.head = kv_head * (shape.heads / shape.kv_heads) + block.member;
  row.token = block.sample * shape.sequence + query;
  row.seen = shape.causal ? query + 1 : block.keys;
  row.score = index * block.keys;
  row.element = shape.first_element(block.sample, row.head, query);
  return row;
}

/// log(exp(a) + exp(b))
__device__ float joined(float a, float b) {
  const float largest = fmaxf(a, b);
  return largest + logf(expf(a - largest) + expf(b - largest));
}

/// Where attention to other keys lies, if there is any.
struct Grown {
  Input before;
  Output after;  ///< the same memory
};

__device__ void scale_head(const AttentionShape& shape, const Row& row, float factor,
                           const Grown& grown) {
  const std::uint64_t n = shape.value_elements();
  const std::uint64_t first = (row.token * shape.heads + row.head) * n;
  for_eights_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
    Eight v = get8(grown.before, first + i, some);
    for (int k = 0; k < 8; ++k) v.value[k] *= factor;
    put8(grown.after, first + i, some, v);
  });
}

/// Scores become their softmax, dropped, in `weights`; where they join those of other keys, theirs
/// in that of all, and what the others made of the output, `grown`, becomes its part.
__global__ void softmax_of_block(AttentionShape shape, Block block, Input scores,
                                 float* log_sum_exp, Output weights, Grown grown) {
  __shared__ float shared[block_threads];
  const float scale = shape.dropout.scale();
  for (std::uint64_t at = blockIdx.x; at < block.heads * block.rows; at += gridDim.x) {
    const Row row = row_of(shape, block, at);
    const std::uint64_t sum = row.token * shape.heads + row.head;
    const float others = grown.before.data ? log_sum_exp[sum] : 0.0f;
    const SoftmaxInput held(scores, row.score, row.seen);
    const SoftmaxRow sums = softmax_row(held, row.seen, shape.scale, shared);
    float inverse = 1.0f / sums.sum, all = sums.largest + logf(sums.sum);
    if (grown.before.data) {
      const float own = all;
      all = joined(others, own);
      inverse *= expf(own - all);
      scale_head(shape, row, expf(others - all), grown);
    }
    // all threads have read it: sums of the block lie between
    if (threadIdx.x == 0) log_sum_exp[sum] = all;
    for_held_row<softmax_held>(
        block.keys, [&](unsigned round, std::uint64_t i, std::uint64_t some) {
          Eight v = held.get(round, i, some);
          for (unsigned k = 0; k < 8; ++k)
            v.value[k] =
                i + k < row.seen ? expf(v.value[k] * shape.scale - sums.largest) * inverse : 0.0f;
          if (shape.dropout.probability > 0) {
            const Kept8 kept = kept8(shape.dropout, row.element + i);
            for (int k = 0; k < 8; ++k) v.value[k] = kept.value[k] ? v.value[k] * scale : 0.0f;
          }
          put8(weights, row.score + i, some, v);
        });
  }
}

struct ScoreGradientsOf {
  Input scores;     ///< fp32, unscaled, of queries and keys
  Input gradients;  ///< fp32, of the dropped softmax
  const float* log_sum_exp;
  Input output_gradient, output;
  Output weights;          ///< the dropped softmax
  Output score_gradients;  ///< gradient of the unscaled scores
};

/// sum over the row's head of output x output's gradient, which is that of softmax x its gradient.
__device__ float row_dot_of(const AttentionShape& shape, const Row& row,
                            const ScoreGradientsOf& call, float* shared) {
  const std::uint64_t n = shape.value_elements();
  const std::uint64_t first = (row.token * shape.heads + row.head) * n;
  float sum = 0;
  for_eights_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
    const Eight a = get8(call.output_gradient, first + i, some);
    const Eight b = get8(call.output, first + i, some);
    for (int k = 0; k < 8; ++k) sum += a.value[k] * b.value[k];
  });
  return block_sum(sum, shared);
}

__global__ void score_gradients_of_block(AttentionShape shape, Block block, ScoreGradientsOf call) {
  __shared__ float shared[block_threads];
  const float scale = shape.dropout.scale();
  for (std::uint64_t at = blockIdx.x; at < block.heads * block.rows; at += gridDim.x) {
    const Row row = row_of(shape, block, at);
    const float row_dot = row_dot_of(shape, row, call, shared);
    const float log_sum = call.log_sum_exp[row.token * shape.heads + row.head];
    for_eights_of_row(block.keys, [&](std::uint64_t i, std::uint64_t some) {
      const Raw8 raw_scores = raw8(call.scores, row.score + i, some);
      const Raw8 raw_gradients = raw8(call.gradients, row.score + i, some);
      Eight p = widened8(call.scores.type, raw_scores);
      Eight ds = widened8(call.gradients.type, raw_gradients);
      Kept8 kept = {{true, true, true, true, true, true, true, true}};
      if (shape.dropout.probability > 0) kept = kept8(shape.dropout, row.element + i);
      for (unsigned k = 0; k < 8; ++k) {
        const float weight = i + k < row.seen ? expf(p.value[k] * shape.scale - log_sum) : 0.0f;
        const float gradient = kept.value[k] ? ds.value[k] * scale : 0.0f;
        ds.value[k] = weight * (gradient - row_dot) * shape.scale;
        p.value[k] = kept.value[k] ? weight * scale : 0.0f;
      }
      put8(call.weights, row.score + i, some, p);
      put8(call.score_gradients, row.score + i, some, ds);
    });
  }
}

}  // namespace

}  // namespace on_device

void CudaPrimitives::attention(const AttentionShape& shape, const AttentionForward& operands) {
  const Element type = operands.value.type;
  const Cut by = cut(shape, forward_bytes, sizeof(float) + size_of(type), 0);
  const std::uint64_t square = by.heads * by.queries * shape.sequence;
  const std::uint64_t scores_bytes = in_lines(square * sizeof(float));
  std::byte* const scores = attention_.take(scores_bytes + square * size_of(type));
  std::byte* const weights = scores + scores_bytes;
  const Output output{operands.output.data, operands.output.type, false};
  const std::uint64_t of_key = shape.head_dim, of_value = shape.value_elements();
  const auto work = [&](const Block& block) {
    Multiplication to_scores{block.rows, block.keys, of_key, block.heads};
    to_scores.a = queries_of(shape, block, operands.query, of_key);
    to_scores.b = keys_of(shape, block, operands.key, true, of_key);
    to_scores.c = scores;
    to_scores.stride = block.keys;
    to_scores.batch_stride = block.rows * block.keys;
    multiply(to_scores);
    launch(stream_, "attention", on_device::softmax_of_block, block.heads * block.rows, shape,
           block, Input(scores, Element::fp32), operands.log_sum_exp, Output{weights, type, false},
           operands.grows ? on_device::Grown{output.read(), output} : on_device::Grown{});
    Product to_output{block.rows, of_value, block.keys, block.heads};
    to_output.a = scores_of(block, weights, type);
    to_output.b = keys_of(shape, block, operands.value, false, of_value);
    to_output.c = queries_of(shape, block, output, of_value);
    to_output.c.values.add = operands.grows;
    product(to_output);
  };
  for (std::uint64_t sample = 0; sample < shape.samples; ++sample)
    for (std::uint64_t kv_head = 0; kv_head < shape.kv_heads; kv_head += by.heads)
      for_blocks(shape, by, sample, kv_head, work);
}

namespace {

/// Scratch of a backward: [heads, queries, sequence] each, and of keys and of values [heads,
/// sequence, elements of a head].
struct BackwardScratch {
  std::byte *scores, *gradients, *weights, *score_gradients, *key_sums, *value_sums;
  std::uint64_t all_sums;  ///< bytes of both
};

BackwardScratch divide(Scratch& scratch, const AttentionShape& shape, const Cut& cut,
                       Element type) {
  const std::uint64_t elements = cut.heads * cut.queries * shape.sequence;
  const std::uint64_t square = in_lines(elements * sizeof(float));
  const std::uint64_t rounded = in_lines(elements * size_of(type));
  const std::uint64_t tokens = cut.heads * shape.sequence;
  const std::uint64_t key_sums = in_lines(tokens * shape.head_dim * sizeof(float));
  const std::uint64_t value_sums = in_lines(tokens * shape.value_elements() * sizeof(float));
  BackwardScratch parts = {};
  parts.all_sums = key_sums + value_sums;
  parts.scores = scratch.take(2 * (square + rounded) + parts.all_sums);
  parts.gradients = parts.scores + square;
  parts.key_sums = parts.gradients + square;
  parts.value_sums = parts.key_sums + key_sums;
  parts.weights = parts.value_sums + value_sums;
  parts.score_gradients = parts.weights + rounded;
  return parts;
}

/// [heads, rows, keys] in fp32 = a b^T, of heads of `elements`.
Multiplication to_scores(const AttentionShape& shape, const Block& block, Input a, Input b,
                         std::uint64_t elements, std::byte* c) {
  Multiplication m{block.rows, block.keys, elements, block.heads};
  m.a = queries_of(shape, block, a, elements);
  m.b = keys_of(shape, block, b, true, elements);
  m.c = c;
  m.stride = block.keys;
  m.batch_stride = block.rows * block.keys;
  return m;
}

/// [heads, keys, elements] in fp32 += scores^T b.
Multiplication to_keys(const AttentionShape& shape, const Block& block, const std::byte* scores,
                       Input b, std::uint64_t elements, std::byte* c) {
  Multiplication m{block.keys, elements, block.rows, block.heads};
  m.a = scores_of(block, scores, b.type, true);
  m.b = queries_of(shape, block, b, elements);
  m.c = c;
  m.stride = elements;
  m.batch_stride = shape.sequence * elements;
  m.keep = 1;
  return m;
}

}  // namespace

// P = softmax, M = mask / keep, dP = M (dO V^T), D = rows of dO O, dS = P (dP - D) scale:
// dQ = dS K, dK = dS^T Q, dV = (P M)^T dO
void CudaPrimitives::attention_backward(const AttentionShape& shape,
                                        const AttentionBackward& operands) {
  const Element type = operands.query.type;
  const std::uint64_t of_key = shape.head_dim, of_value = shape.value_elements();
  const Cut by = cut(shape, backward_bytes, 2 * (sizeof(float) + size_of(type)),
                     (of_key + of_value) * sizeof(float));
  const BackwardScratch parts = divide(attention_, shape, by, type);
  const auto work = [&](const Block& block) {
    multiply(to_scores(shape, block, operands.query, operands.key, of_key, parts.scores));
    multiply(to_scores(shape, block, operands.output_gradient, operands.value, of_value,
                       parts.gradients));
    launch(stream_, "attention_backward", on_device::score_gradients_of_block,
           block.heads * block.rows, shape, block,
           on_device::ScoreGradientsOf{
               Input(parts.scores, Element::fp32), Input(parts.gradients, Element::fp32),
               operands.log_sum_exp, operands.output_gradient, operands.output,
               Output{parts.weights, type, false}, Output{parts.score_gradients, type, false}});
    multiply(
        to_keys(shape, block, parts.weights, operands.output_gradient, of_value, parts.value_sums));
    multiply(to_keys(shape, block, parts.score_gradients, operands.query, of_key, parts.key_sums));
    Product to_query{block.rows, of_key, block.keys, block.heads};
    to_query.a = scores_of(block, parts.score_gradients, type);
    to_query.b = keys_of(shape, block, operands.key, false, of_key);
    to_query.c = queries_of(shape, block, operands.query_gradient, of_key);
    product(to_query);
  };
  const auto store = [&](std::uint64_t sample, std::uint64_t kv_head, const std::byte* sums,
                         std::uint64_t elements, Output into) {
    into.data += first_key(shape, sample, kv_head) * elements * size_of(into.type);
    const std::uint64_t heads = std::min(by.heads, shape.kv_heads - kv_head);
    store_matrices(stream_, {sums, Element::fp32}, shape.sequence, elements, heads,
                   {into, shape.kv_heads * elements, elements});
  };
  for (std::uint64_t sample = 0; sample < shape.samples; ++sample)
    for (std::uint64_t kv_head = 0; kv_head < shape.kv_heads; kv_head += by.heads) {
      zero(parts.key_sums, parts.all_sums);
      for_blocks(shape, by, sample, kv_head, work);
      store(sample, kv_head, parts.key_sums, of_key, operands.key_gradient);
      store(sample, kv_head, parts.value_sums, of_value, operands.value_gradient);
    }
}

}  // namespace spillway::hw_backend
