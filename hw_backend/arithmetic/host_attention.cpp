#include "hw_backend/arithmetic/host_map.hpp"

#include <cmath>

namespace spillway::hw_backend {

namespace {

constexpr std::uint64_t query_block = 64;

/// Queries [first, first + rows) of a head, and the keys [0, keys) that any of them sees.
struct Queries {
  std::uint64_t sample, head, first, rows, keys;
};

/// Calls work(queries) for all blocks of a head's queries, in order.
template <class Work>
void for_blocks(const AttentionShape& shape, std::uint64_t sample, std::uint64_t head,
                const Work& work) {
  for (std::uint64_t first = 0; first < shape.sequence; first += query_block) {
    const std::uint64_t rows = std::min(query_block, shape.sequence - first);
    work(Queries{sample, head, first, rows, shape.causal ? first + rows : shape.sequence});
  }
}

/// Calls work(key, kept or not) for the keys [0, count) of one query.
template <class Work>
void for_kept(const AttentionShape& shape, const Queries& q, std::uint64_t row, const Work& work) {
  const std::uint64_t first =
      shape.dropout.first + shape.first_element(q.sample, q.head, q.first + row);
  const std::uint32_t threshold = shape.dropout.threshold();
  Words words{};
  for (std::uint64_t key = 0; key < q.keys; ++key) {
    const std::uint64_t element = first + key;
    if (key == 0 || element % 4 == 0) words = random_words(shape.dropout.stream, element / 4);
    work(key, words.word[element % 4] >= threshold);
  }
}

std::uint64_t visible(const AttentionShape& shape, const Queries& q, std::uint64_t row) {
  return shape.causal ? q.first + row + 1 : q.keys;
}

/// Scores, unscaled, become their softmax.
///   Result  log of the sum of exp(scaled scores)
float softmax_row(float* row, std::uint64_t seen, std::uint64_t width, float scale) {
  float largest = row[0];
  for (std::uint64_t i = 1; i < seen; ++i) largest = std::max(largest, row[i]);
  largest *= scale;
  for (std::uint64_t i = 0; i < seen; ++i) row[i] = std::exp(row[i] * scale - largest);
  const float sum = sum_of(seen, [&](std::size_t i) { return row[i]; });
  for (std::uint64_t i = 0; i < seen; ++i) row[i] /= sum;
  std::fill(row + seen, row + width, 0.0f);
  return largest + std::log(sum);
}

/// log(exp(a) + exp(b))
float joined(float a, float b) {
  const float largest = std::max(a, b);
  return largest + std::log(std::exp(a - largest) + std::exp(b - largest));
}

/// Where rows of one head begin in [samples x sequence, heads x elements of a head].
std::uint64_t at(const AttentionShape& shape, std::uint64_t sample, std::uint64_t row,
                 std::uint64_t heads, std::uint64_t head, std::uint64_t elements) {
  return ((sample * shape.sequence + row) * heads + head) * elements;
}

}  // namespace

void HostPrimitives::attention(const AttentionShape& shape, const AttentionForward& operands) {
  const std::uint64_t s = shape.sequence, d = shape.head_dim, group = shape.heads / shape.kv_heads;
  const std::uint64_t v = shape.value_elements(), kv = shape.kv_heads;
  const auto [keys, values, queries, scores, output] =
      scratch_.take<5>({s * d, s * v, query_block * d, query_block * s, query_block * v});
  for (std::uint64_t head = 0, sample = 0; sample < shape.samples;
       head = (head + 1) % shape.heads, sample += head == 0) {
    if (head % group == 0) {
      load_rows(operands.key, at(shape, sample, 0, kv, head / group, d), kv * d, s, d, keys);
      load_rows(operands.value, at(shape, sample, 0, kv, head / group, v), kv * v, s, v, values);
    }
    for_blocks(shape, sample, head, [&](const Queries& q) {
      const std::uint64_t first = at(shape, sample, q.first, shape.heads, head, d);
      const std::uint64_t first_out = at(shape, sample, q.first, shape.heads, head, v);
      load_rows(operands.query, first, shape.heads * d, q.rows, d, queries);
      multiply_({{queries}, {keys, true}, scores, false, q.rows, q.keys, d});
      if (operands.grows)
        load_rows(operands.output.read(), first_out, shape.heads * v, q.rows, v, output);
      for (std::uint64_t row = 0; row < q.rows; ++row) {
        float* const p = scores + row * q.keys;
        const std::uint64_t token = sample * s + q.first + row;
        float& sum = operands.log_sum_exp[token * shape.heads + head];
        const float own = softmax_row(p, visible(shape, q, row), q.keys, shape.scale);
        const float both = operands.grows ? joined(sum, own) : own;
        if (operands.grows) {
          const float of_these = std::exp(own - both), of_others = std::exp(sum - both);
          for (std::uint64_t i = 0; i < q.keys; ++i) p[i] *= of_these;
          for (std::uint64_t i = 0; i < v; ++i) output[row * v + i] *= of_others;
        }
        sum = both;
        if (shape.dropout.probability > 0)
          for_kept(shape, q, row, [&, scale = shape.dropout.scale()](std::uint64_t key, bool kept) {
            p[key] = kept ? p[key] * scale : 0.0f;
          });
      }
      multiply_({{scores}, {values}, output, operands.grows, q.rows, v, q.keys});
      store_rows(output, operands.output, first_out, shape.heads * v, q.rows, v);
    });
  }
}

namespace {

/// What the backward of one block of queries works on: rows of keys that the block sees.
struct Slopes {
  float* softmax;    ///< unscaled scores, then P
  float* dropped;    ///< P M
  float* gradients;  ///< dO V^T, then dS
  const float* output_gradients;
  const float* outputs;
};

// P = softmax, M = mask / keep, dP = M (dO V^T), D = rows of dO O, dS = P (dP - D) scale:
// dQ = dS K, dK = dS^T Q, dV = (P M)^T dO
void to_score_gradients(const AttentionShape& shape, const Queries& q, const float* log_sum_exp,
                        const Slopes& at) {
  const std::uint64_t v = shape.value_elements();
  const float keep = shape.dropout.scale();
  for (std::uint64_t row = 0; row < q.rows; ++row) {
    float* const p = at.softmax + row * q.keys;
    float* const kept = at.dropped + row * q.keys;
    float* const ds = at.gradients + row * q.keys;
    const std::uint64_t token = q.sample * shape.sequence + q.first + row;
    const float log_sum = log_sum_exp[token * shape.heads + q.head];
    const std::uint64_t seen = visible(shape, q, row);
    for (std::uint64_t i = 0; i < seen; ++i) p[i] = std::exp(p[i] * shape.scale - log_sum);
    std::fill(p + seen, p + q.keys, 0.0f);
    std::copy_n(p, q.keys, kept);
    if (shape.dropout.probability > 0)
      for_kept(shape, q, row, [&](std::uint64_t key, bool keeps) {
        kept[key] = keeps ? kept[key] * keep : 0.0f;
        ds[key] = keeps ? ds[key] * keep : 0.0f;
      });
    const float row_dot = sum_of(v, [&](std::size_t i) {
      return at.output_gradients[row * v + i] * at.outputs[row * v + i];
    });
    for (std::uint64_t i = 0; i < q.keys; ++i) ds[i] = p[i] * (ds[i] - row_dot) * shape.scale;
  }
}

}  // namespace

void HostPrimitives::attention_backward(const AttentionShape& shape,
                                        const AttentionBackward& operands) {
  const std::uint64_t s = shape.sequence, d = shape.head_dim, group = shape.heads / shape.kv_heads;
  const std::uint64_t v = shape.value_elements(), heads = shape.heads, kv = shape.kv_heads;
  const std::uint64_t block = query_block * std::max(d, v), square = query_block * s;
  const auto [keys, values, key_sums, value_sums, queries, gradients, outputs, softmax, dropped,
              score_gradients] =
      scratch_.take<10>({s * d, s * v, s * d, s * v, block, block, block, square, square, square});
  for (std::uint64_t head = 0, sample = 0; sample < shape.samples;
       head = (head + 1) % shape.heads, sample += head == 0) {
    const std::uint64_t first_key = at(shape, sample, 0, kv, head / group, d);
    const std::uint64_t first_value = at(shape, sample, 0, kv, head / group, v);
    if (head % group == 0) {
      load_rows(operands.key, first_key, kv * d, s, d, keys);
      load_rows(operands.value, first_value, kv * v, s, v, values);
      std::fill_n(key_sums, s * d, 0.0f);
      std::fill_n(value_sums, s * v, 0.0f);
    }
    for_blocks(shape, sample, head, [&](const Queries& q) {
      const std::uint64_t first = at(shape, sample, q.first, heads, head, d);
      const std::uint64_t first_out = at(shape, sample, q.first, heads, head, v);
      load_rows(operands.query, first, heads * d, q.rows, d, queries);
      load_rows(operands.output_gradient, first_out, heads * v, q.rows, v, gradients);
      load_rows(operands.output, first_out, heads * v, q.rows, v, outputs);
      multiply_({{queries}, {keys, true}, softmax, false, q.rows, q.keys, d});
      multiply_({{gradients}, {values, true}, score_gradients, false, q.rows, q.keys, v});
      to_score_gradients(shape, q, operands.log_sum_exp,
                         {softmax, dropped, score_gradients, gradients, outputs});
      multiply_({{dropped, true}, {gradients}, value_sums, true, q.keys, v, q.rows});
      multiply_({{score_gradients, true}, {queries}, key_sums, true, q.keys, d, q.rows});
      multiply_({{score_gradients}, {keys}, outputs, false, q.rows, d, q.keys});
      store_rows(outputs, operands.query_gradient, first, heads * d, q.rows, d);
    });
    if (head % group == group - 1) {
      store_rows(key_sums, operands.key_gradient, first_key, kv * d, s, d);
      store_rows(value_sums, operands.value_gradient, first_value, kv * v, s, v);
    }
  }
}

void HostPrimitives::softmax(const Softmax& softmax, Input x, Output y) {
  const std::size_t n = softmax.width;
  const auto [values] = scratch_.take<1>({n});
  for (std::uint64_t row = 0; row < softmax.rows; ++row) {
    widen_into(x, row * n, n, values);
    softmax_row(values, softmax.seen(row), n, 1);
    narrow(values, y, row * n, n);
  }
}

void HostPrimitives::softmax_backward(const Softmax& softmax, Input y_gradient, Input y,
                                      Output x_gradient) {
  const std::size_t n = softmax.width;
  const auto [wide_gradient, wide_y, values] = scratch_.take<3>({n, n, n});
  for (std::uint64_t row = 0; row < softmax.rows; ++row) {
    const float* const dy = widen(y_gradient, row * n, n, wide_gradient);
    const float* const p = widen(y, row * n, n, wide_y);
    const float row_dot = sum_of(n, [&](std::size_t i) { return dy[i] * p[i]; });
    for (std::size_t i = 0; i < n; ++i) values[i] = p[i] * (dy[i] - row_dot);
    narrow(values, x_gradient, row * n, n);
  }
}

void HostPrimitives::rotate(const Rotation& rotation, Output values) {
  const std::uint64_t half = (rotation.rotated == 0 ? rotation.head_dim : rotation.rotated) / 2;
  const std::uint64_t width = rotation.heads * rotation.head_dim;
  const std::uint64_t own = rotation.share.of(rotation.sequence);
  const std::uint64_t samples = rotation.rows / own;
  const auto [row, sines, cosines] = scratch_.take<3>({width, half, half});
  for (std::uint64_t token = 0; token < own; ++token) {
    const std::uint64_t position = rotation.share.position(token);
    for (std::uint64_t i = 0; i < half; ++i) {
      const double power = -2.0 * static_cast<double>(i) / static_cast<double>(2 * half);
      const double angle = static_cast<double>(position) * std::pow(rotation.theta, power);
      sines[i] = static_cast<float>(rotation.back ? -std::sin(angle) : std::sin(angle));
      cosines[i] = static_cast<float>(std::cos(angle));
    }
    for (std::uint64_t sample = 0; sample < samples; ++sample) {
      const std::uint64_t first = (sample * own + token) * width;
      widen_into(values.read(), first, width, row);
      for (float* head = row + rotation.first; head < row + width; head += rotation.head_dim)
        for (std::uint64_t i = 0; i < half; ++i) {
          const float a = head[i], b = head[i + half];
          head[i] = a * cosines[i] - b * sines[i];
          head[i + half] = b * cosines[i] + a * sines[i];
        }
      narrow(row, {values.data, values.type}, first, width);
    }
  }
}

void HostPrimitives::join_heads(const JoinedHeads& heads, Input own, Input shared, Output keys) {
  const std::uint64_t own_width = heads.heads * heads.own, both = heads.own + heads.shared;
  const auto [parts, alike, joined] =
      scratch_.take<3>({own_width, heads.shared, heads.heads * both});
  for (std::uint64_t row = 0; row < heads.rows; ++row) {
    widen_into(own, row * own_width, own_width, parts);
    widen_into(shared, row * heads.shared, heads.shared, alike);
    for (std::uint64_t head = 0; head < heads.heads; ++head) {
      std::copy_n(parts + head * heads.own, heads.own, joined + head * both);
      std::copy_n(alike, heads.shared, joined + head * both + heads.own);
    }
    narrow(joined, keys, row * heads.heads * both, heads.heads * both);
  }
}

void HostPrimitives::join_heads_backward(const JoinedHeads& heads, Input keys_gradient,
                                         Output own_gradient, Output shared_gradient) {
  const std::uint64_t own_width = heads.heads * heads.own, both = heads.own + heads.shared;
  const auto [parts, alike, joined] =
      scratch_.take<3>({own_width, heads.shared, heads.heads * both});
  for (std::uint64_t row = 0; row < heads.rows; ++row) {
    widen_into(keys_gradient, row * heads.heads * both, heads.heads * both, joined);
    std::fill_n(alike, heads.shared, 0.0f);
    for (std::uint64_t head = 0; head < heads.heads; ++head) {
      std::copy_n(joined + head * both, heads.own, parts + head * heads.own);
      for (std::uint64_t i = 0; i < heads.shared; ++i)
        alike[i] += joined[head * both + heads.own + i];
    }
    narrow(parts, own_gradient, row * own_width, own_width);
    narrow(alike, shared_gradient, row * heads.shared, heads.shared);
  }
}

}  // namespace spillway::hw_backend
