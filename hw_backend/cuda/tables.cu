#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/elements.cuh"
#include "hw_backend/cuda/launch.cuh"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace on_device {

namespace {

/// One block a row.
__global__ void embed(Embedding call, Input words, Input positions, Output hidden) {
  __shared__ std::uint64_t word;
  const std::uint64_t n = call.width;
  for (std::uint64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    if (threadIdx.x == 0) word = call.text.input(row);
    __syncthreads();
    const std::uint64_t position = call.text.position(row) + call.position_offset;
    const bool here = call.words.has(word);
    for_eights_of_row(n, [&](std::uint64_t i, std::uint64_t some) {
      Eight v = {};
      if (here) v = get8(words, (word - call.words.first) * n + i, some);
      if (call.positions > 0) {
        const Eight more = get8(positions, position * n + i, some);
        for (int k = 0; k < 8; ++k) v.value[k] += more.value[k];
      }
      put8(hidden, row * n + i, some, v);
    });
    __syncthreads();
  }
}

/// words [rows]: which word each token is.
__global__ void find_words(Embedding call, std::uint64_t* words) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t row = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; row < call.rows;
       row += stride)
    words[row] = call.text.input(row);
}

/// The tokens that are one symbol's: `rows` [first, first + count), ascending.
struct Uses {
  std::uint64_t first, count;
};

/// Where the tokens of each symbol are, one block a symbol: behind those of smaller words. Threads
/// look at 256 tokens at a time and find their places among them by a scan of shared memory.
__global__ void list_uses(Embedding call, const std::uint64_t* words, std::uint32_t* rows,
                          Uses* uses) {
  __shared__ std::uint32_t shared[block_threads];
  for (std::uint64_t symbol = blockIdx.x; symbol < call.text.symbols(); symbol += gridDim.x) {
    const std::uint64_t word = call.text.token_of(static_cast<std::uint32_t>(symbol));
    std::uint32_t smaller = 0;
    for (std::uint64_t row = threadIdx.x; row < call.rows; row += block_threads)
      smaller += words[row] < word ? 1 : 0;
    const std::uint32_t first = block_sum(smaller, shared);
    std::uint32_t found = 0;
    for (std::uint64_t begin = 0; begin < call.rows; begin += block_threads) {
      const std::uint64_t row = begin + threadIdx.x;
      const bool is = row < call.rows && words[row] == word;
      std::uint32_t place = is ? 1 : 0;  // of those up to this one
      for (unsigned back = 1; back < block_threads; back *= 2) {
        shared[threadIdx.x] = place;
        __syncthreads();
        if (threadIdx.x >= back) place += shared[threadIdx.x - back];
        __syncthreads();
      }
      if (is) rows[first + found + place - 1] = static_cast<std::uint32_t>(row);
      shared[threadIdx.x] = place;
      __syncthreads();
      found += shared[block_threads - 1];
      __syncthreads();
    }
    if (threadIdx.x == 0) uses[symbol] = {first, found};
  }
}

/// Every block sums one symbol's tokens, in ascending order, for block_elements columns of its
/// word.
__global__ void sum_words(Embedding call, const std::uint32_t* rows, const Uses* uses, Input hidden,
                          Output table) {
  const std::uint64_t n = call.width, parts = (n + block_elements - 1) / block_elements;
  for (std::uint64_t block = blockIdx.x; block < call.text.symbols() * parts; block += gridDim.x) {
    const std::uint64_t symbol = block / parts;
    const std::uint64_t column = block % parts * block_elements + 8 * threadIdx.x;
    const Uses of = uses[symbol];
    const std::uint64_t word = call.text.token_of(static_cast<std::uint32_t>(symbol));
    if (of.count == 0 || column >= n || !call.words.has(word)) continue;
    const std::uint64_t some = n - column < 8 ? n - column : 8;
    Eight sum = {};
    for (std::uint64_t i = of.first; i < of.first + of.count; ++i) {
      const Eight more = get8(hidden, rows[i] * n + column, some);
      for (int k = 0; k < 8; ++k) sum.value[k] += more.value[k];
    }
    put8(table, (word - call.words.first) * n + column, some, sum);
  }
}

/// A position of the sequence: its tokens of all samples, in order.
__global__ void sum_positions(Embedding call, Input hidden, Output table) {
  const std::uint64_t n = call.width;
  const std::uint64_t own = call.text.own();
  for (std::uint64_t token = blockIdx.x; token < own; token += gridDim.x)
    for_eights_of_row(n, [&](std::uint64_t column, std::uint64_t some) {
      Eight sum = {};
      for (std::uint64_t row = token; row < call.rows; row += own) {
        const Eight more = get8(hidden, row * n + column, some);
        for (int k = 0; k < 8; ++k) sum.value[k] += more.value[k];
      }
      put8(table, (call.text.position(token) + call.position_offset) * n + column, some, sum);
    });
}

// Of angles: position = turn_span x turn + step, and the sine of the sum of two angles is known
// from theirs. So a table of few rows serves every position, to the last bits of a double.
constexpr std::uint64_t turn_span = 256;

struct Turn {
  double sine, cosine;
};

/// turns [steps 0 to turn_span - 1, then turns, half]: of position x theta^(-2 i / (2 half)).
__global__ void fill_turns(double theta, std::uint64_t rows, std::uint64_t half, Turn* turns) {
  for (std::uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::uint64_t position = row < turn_span ? row : (row - turn_span) * turn_span;
    for (std::uint64_t i = threadIdx.x; i < half; i += block_threads) {
      const double power = -2.0 * static_cast<double>(i) / static_cast<double>(2 * half);
      const double angle = static_cast<double>(position) * pow(theta, power);
      turns[row * half + i] = {sin(angle), cos(angle)};
    }
  }
}

/// Heads that one thread turns by the same angles.
constexpr unsigned turned_heads = 4;

struct Turning {
  std::uint64_t half, eights, groups;  ///< of a head's pairs, of its eights, of heads
};

/// A thread turns eight pairs of one row in `turned_heads` heads.
__global__ void rotate(Rotation rotation, Turning by, const Turn* turns, Output values) {
  const std::uint64_t width = rotation.heads * rotation.head_dim;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
       at < rotation.rows * by.groups * by.eights; at += stride) {
    const std::uint64_t i = at % by.eights * 8, rest = at / by.eights;
    const std::uint64_t row = rest / by.groups, group = rest % by.groups;
    const std::uint64_t some = by.half - i < 8 ? by.half - i : 8;
    const std::uint64_t position =
        rotation.share.position(row % rotation.share.of(rotation.sequence));
    const Turn* const step = turns + position % turn_span * by.half + i;
    const Turn* const turn = turns + (turn_span + position / turn_span) * by.half + i;
    float s[8] = {}, c[8] = {};
    for (unsigned k = 0; k < 8; ++k)
      if (k < some) {
        const double sine = turn[k].sine * step[k].cosine + turn[k].cosine * step[k].sine;
        s[k] = static_cast<float>(rotation.back ? -sine : sine);
        c[k] = static_cast<float>(turn[k].cosine * step[k].cosine - turn[k].sine * step[k].sine);
      }
    for (std::uint64_t head = group * turned_heads;
         head < rotation.heads && head < (group + 1) * turned_heads; ++head) {
      const std::uint64_t first = row * width + head * rotation.head_dim + rotation.first + i;
      const Raw8 raw_a = raw8(values.data, values.type, first, some);
      const Raw8 raw_b = raw8(values.data, values.type, first + by.half, some);
      Eight a = widened8(values.type, raw_a), b = widened8(values.type, raw_b);
      for (unsigned k = 0; k < 8; ++k) {
        const float one = a.value[k], other = b.value[k];
        a.value[k] = one * c[k] - other * s[k];
        b.value[k] = other * c[k] + one * s[k];
      }
      put8(values, first, some, a);
      put8(values, first + by.half, some, b);
    }
  }
}

/// Eights of the parts of a head.
struct HeadEights {
  std::uint64_t own, shared;
};

/// A thread copies eight elements of one head's own part, or of the shared one into one head.
__global__ void join_heads(JoinedHeads heads, HeadEights eights, Input own, Input shared,
                           Output keys) {
  const std::uint64_t of_head = eights.own + eights.shared, both = heads.own + heads.shared;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
       at < heads.rows * heads.heads * of_head; at += stride) {
    const std::uint64_t head = at / of_head, eight = at % of_head;  // head: of all rows
    const bool is_own = eight < eights.own;
    const std::uint64_t i = 8 * (is_own ? eight : eight - eights.own);
    const std::uint64_t left = (is_own ? heads.own : heads.shared) - i, some = left < 8 ? left : 8;
    const std::uint64_t row = head / heads.heads;
    const Eight v =
        is_own ? get8(own, head * heads.own + i, some) : get8(shared, row * heads.shared + i, some);
    put8(keys, head * both + (is_own ? i : heads.own + i), some, v);
  }
}

/// A thread copies eight elements of one head's own part, or sums eight shared ones over the heads.
__global__ void part_heads(JoinedHeads heads, HeadEights eights, Input keys, Output own,
                           Output shared) {
  const std::uint64_t of_own = heads.heads * eights.own, of_row = of_own + eights.shared;
  const std::uint64_t both = heads.own + heads.shared;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
       at < heads.rows * of_row; at += stride) {
    const std::uint64_t row = at / of_row, eight = at % of_row;
    if (eight < of_own) {
      const std::uint64_t head = row * heads.heads + eight / eights.own;
      const std::uint64_t i = eight % eights.own * 8;
      const std::uint64_t some = heads.own - i < 8 ? heads.own - i : 8;
      put8(own, head * heads.own + i, some, get8(keys, head * both + i, some));
      continue;
    }
    const std::uint64_t i = (eight - of_own) * 8;
    const std::uint64_t some = heads.shared - i < 8 ? heads.shared - i : 8;
    Eight sum = {};
    for (std::uint64_t head = row * heads.heads; head < (row + 1) * heads.heads; ++head) {
      const Eight more = get8(keys, head * both + heads.own + i, some);
      for (int k = 0; k < 8; ++k) sum.value[k] += more.value[k];
    }
    put8(shared, row * heads.shared + i, some, sum);
  }
}

}  // namespace

}  // namespace on_device

void CudaPrimitives::embed(const Embedding& call, Input words, Input positions, Output hidden) {
  launch(stream_, "embed", on_device::embed, call.rows, call, words, positions, hidden);
}

void CudaPrimitives::embed_backward(const Embedding& call, Input hidden_gradient, Output words,
                                    Output positions) {
  ENSURE(call.rows < (std::uint64_t{1} << 32), "a micro-batch of 2^32 tokens");
  const std::uint64_t symbols = call.text.symbols();
  const std::uint64_t uses_bytes = symbols * sizeof(on_device::Uses);
  std::byte* const scratch =
      rows_.take(uses_bytes + call.rows * (sizeof(std::uint64_t) + sizeof(std::uint32_t)));
  auto* const uses = reinterpret_cast<on_device::Uses*>(scratch);
  auto* const found = reinterpret_cast<std::uint64_t*>(scratch + uses_bytes);
  auto* const rows = reinterpret_cast<std::uint32_t*>(found + call.rows);
  launch(stream_, "embed_backward", on_device::find_words, divided_up(call.rows, block_threads),
         call, found);
  launch(stream_, "embed_backward", on_device::list_uses, symbols, call, found, rows, uses);
  if (!words.add) zero(words.data, call.table_rows() * call.width * size_of(words.type));
  launch(stream_, "embed_backward", on_device::sum_words,
         symbols * divided_up(call.width, on_device::block_elements), call, rows, uses,
         hidden_gradient, words);
  if (call.positions == 0) return;
  if (!positions.add) zero(positions.data, call.positions * call.width * size_of(positions.type));
  launch(stream_, "embed_backward", on_device::sum_positions, call.text.own(), call,
         hidden_gradient, positions);
}

void CudaPrimitives::rotate(const Rotation& rotation, Output values) {
  values.add = false;
  const std::uint64_t half = (rotation.rotated == 0 ? rotation.head_dim : rotation.rotated) / 2;
  if (half == 0 || rotation.rows == 0) return;
  const std::uint64_t rows =
      on_device::turn_span + divided_up(rotation.sequence, on_device::turn_span);
  auto* const turns =
      reinterpret_cast<on_device::Turn*>(turns_.take(rows * half * sizeof(on_device::Turn)));
  if (DryRun::here()) return;
  const TurnsKey key{rotation.theta, rows, half};
  if (turns_of_ != key) {
    launch(stream_, "rotate", on_device::fill_turns, rows, rotation.theta, rows, half, turns);
    turns_of_ = key;
  }
  const on_device::Turning by{half, divided_up(half, 8),
                              divided_up(rotation.heads, on_device::turned_heads)};
  launch(stream_, "rotate", on_device::rotate,
         divided_up(rotation.rows * by.groups * by.eights, block_threads), rotation, by, turns,
         values);
}

void CudaPrimitives::join_heads(const JoinedHeads& heads, Input own, Input shared, Output keys) {
  const on_device::HeadEights eights{divided_up(heads.own, 8), divided_up(heads.shared, 8)};
  const std::uint64_t threads = heads.rows * heads.heads * (eights.own + eights.shared);
  launch(stream_, "join_heads", on_device::join_heads, divided_up(threads, block_threads), heads,
         eights, own, shared, keys);
}

void CudaPrimitives::join_heads_backward(const JoinedHeads& heads, Input keys_gradient,
                                         Output own_gradient, Output shared_gradient) {
  const on_device::HeadEights eights{divided_up(heads.own, 8), divided_up(heads.shared, 8)};
  const std::uint64_t threads = heads.rows * (heads.heads * eights.own + eights.shared);
  launch(stream_, "join_heads_backward", on_device::part_heads, divided_up(threads, block_threads),
         heads, eights, keys_gradient, own_gradient, shared_gradient);
}

}  // namespace spillway::hw_backend
