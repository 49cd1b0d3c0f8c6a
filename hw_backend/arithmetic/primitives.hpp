#pragma once

#include "hw_backend/arithmetic/adafactor.hpp"
#include "hw_backend/arithmetic/packed_states.hpp"
#include "hw_backend/arithmetic/packing.hpp"
#include "hw_backend/arithmetic/random.hpp"
#include "hw_backend/arithmetic/routing.hpp"
#include "hw_backend/arithmetic/weight_slice.hpp"
#include "hw_backend/cpu/element.hpp"
#include "hw_backend/cpu/optimizer_step.hpp"
#include "models/architecture/architecture.hpp"

#include <cstddef>
#include <cstdint>

namespace spillway::hw_backend {

/// Values in device memory that are read. No data: the operand is not there (a bias nobody has).
using Input = ConstArray;

/// Values in device memory that are written.
struct Output {
  std::byte* data = nullptr;
  Element type = Element::fp32;
  bool add = false;  ///< sum in fp32 with what lies there, round once

  Input read() const { return {data, type}; }
};

/// A matrix of row-major storage; `stride` elements from one row in memory to the next.
struct MatrixInput {
  Input values;
  std::uint64_t stride = 0;
  bool transposed = false;         ///< the product uses the transpose of what lies in memory
  std::uint64_t batch_stride = 0;  ///< elements from one matrix to the next; 0: one for all
};
struct MatrixOutput {
  Output values;
  std::uint64_t stride = 0;
  std::uint64_t batch_stride = 0;  ///< 0 with a batch of 1 only
};

/// c [rows, columns] = scale x a [rows, inner] b [inner, columns], `batch` times.
struct Product {
  std::uint64_t rows = 0, columns = 0, inner = 0, batch = 1;
  MatrixInput a = {}, b = {};
  MatrixOutput c = {};
  float scale = 1;
};

enum class NormKind { layer, root_mean_square };

/// Rows of one tensor, each normed over its width.
struct Norm {
  NormKind kind = NormKind::layer;
  float epsilon = 1e-5f;
  std::uint64_t rows = 0, width = 0;
};

/// Outputs [rows, width] of a module with DoRA, by column: bias + magnitude / norm (product - bias
/// + added); product holds the bias already.
///   Source  Liu et al.: DoRA (2024), equation 5; PEFT, DoraLinearLayer
struct Rescale {
  std::uint64_t rows = 0, width = 0;
  Input product = {}, added = {};
  Input bias = {};  ///< may be absent
  Input magnitudes = {};
  const float* norms = nullptr;
};

/// Rotary positions of rows [samples x own tokens, heads x head_dim]: in each head, element i turns
/// with element i + head_dim / 2 by position x theta^(-2 i / head_dim).
///   Source  Su et al.: RoFormer (2021), 3.2.2; halves instead of pairs as in Hugging Face's llama
struct Rotation {
  std::uint64_t rows = 0, sequence = 0, heads = 0, head_dim = 0;
  double theta = 10000;
  bool back = false;          ///< by the opposite angle: what gradients need
  std::uint64_t rotated = 0;  ///< only so many elements of a head turn, as if it were so wide; 0:
                              ///< all
  TokenShare share{};         ///< of the sequence, which the rows are of
  std::uint64_t first = 0;    ///< the element of a head that those which turn begin with
};

/// Keys whose heads end alike: [rows, heads x (own + shared)], in each head `own` elements of its
/// own, [rows, heads x own], and behind them those of all heads, [rows, shared].
struct JoinedHeads {
  std::uint64_t rows = 0, heads = 0, own = 0, shared = 0;
};

/// Queries [samples x sequence, heads x head_dim], keys [samples x sequence, kv_heads x head_dim],
/// values [samples x sequence, kv_heads x value_elements()], and of each query head what its
/// weights make of the values, [samples x sequence, heads x value_elements()]; query head h reads
/// key head h / (heads / kv_heads).
struct AttentionShape {
  std::uint64_t samples = 0, sequence = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool causal = false;
  float scale = 1;  ///< of the scores: 1 / sqrt(head_dim)
  /// Of the softmax, element ((sample x heads + head) x sequence + query) x sequence + key, of all
  /// heads.
  Dropout dropout;
  /// Of heads that ranks share: where those here begin, and how many there are; 0: these are all.
  std::uint64_t first_head = 0, all_heads = 0;
  std::uint64_t value_dim = 0;  ///< elements of a value head; 0: head_dim

  SPILLWAY_ANYWHERE std::uint64_t value_elements() const {
    return value_dim == 0 ? head_dim : value_dim;
  }
  /// The first element for the dropout of a query of one of these heads.
  SPILLWAY_ANYWHERE std::uint64_t first_element(std::uint64_t sample, std::uint64_t head,
                                                std::uint64_t query) const {
    const std::uint64_t of_sample = all_heads == 0 ? heads : all_heads;
    return ((sample * of_sample + first_head + head) * sequence + query) * sequence;
  }
};

/// Operands of `attention`; log_sum_exp [samples x sequence, heads] fp32, of the scaled scores.
struct AttentionForward {
  Input query, key, value;
  Output output;
  float* log_sum_exp = nullptr;
  /// Output and log_sum_exp are of other keys, which these join; without dropout.
  bool grows = false;
};
/// Of the same operands where keys have joined: output and log_sum_exp are those of all keys.
struct AttentionBackward {
  Input output_gradient, query, key, value, output;
  const float* log_sum_exp = nullptr;
  Output query_gradient, key_gradient, value_gradient;
  /// fp32 [samples x sequence, heads x head_dim], to sum the gradient of queries; null when the
  /// elements are fp32.
  float* workspace = nullptr;
};

/// Rows of scores [rows, width], `rows` whole squares of `queries` rows each.
struct Softmax {
  std::uint64_t rows = 0, width = 0;
  bool causal = false;  ///< row r sees columns 0 to r % queries; the others become 0
  std::uint64_t queries = 1;
  std::uint64_t columns = 0;  ///< not causal: rows see so many, the others become 0; 0: all

  SPILLWAY_ANYWHERE std::uint64_t seen(std::uint64_t row) const {
    if (causal) return row % queries + 1;
    return columns == 0 ? width : columns;
  }
};

struct GatedProduct {
  models::Activation activation = models::Activation::silu;
  std::uint64_t count = 0;
};

/// The tables of an embedding: word rows [vocabulary, width], or those of some words, and position
/// rows [positions, width] of which position p takes row p + position_offset.
struct Embedding {
  SyntheticText text;
  std::uint64_t rows = 0;  ///< tokens of the micro-batch
  std::uint64_t width = 0;
  std::uint64_t positions = 0;  ///< 0: no such table
  std::uint64_t position_offset = 0;
  WordShare words{};  ///< of which the table is; other tokens have rows of 0

  std::uint64_t table_rows() const { return words.rows == 0 ? text.vocabulary : words.rows; }
};

/// Rows [first_row, first_row + rows) of a micro-batch of `tokens`, each with `width` logits.
struct CrossEntropy {
  SyntheticText text;  ///< label of row r: text.label(first_row + r)
  std::uint64_t first_row = 0, rows = 0, width = 0, tokens = 0;
  WordShare words{};  ///< of which the logits are; without rows: of all
  /// Of a softmax of such words: by row of the micro-batch, its part of that of all.
  const float* shares = nullptr;

  SPILLWAY_ANYWHERE float share(std::uint64_t row) const {
    return shares ? shares[first_row + row] : 1.0f;
  }
};

/// The loss of a micro-batch whose words several ranks share.
struct JoinedLoss {
  std::uint64_t tokens = 0, ranks = 1, rank = 0;
};

/// A factor; where there is a divisor that, at least `least`, divides too.
struct Scaling {
  float factor = 1;
  const float* divisor = nullptr;
  float least = 0;
};

/// Some columns of a matrix that is cut into shares, each of `share` elements in a row, and where
/// they lie once they are taken out of some of its shares (strategies::PackedColumns).
struct ChosenColumns {
  std::uint64_t rows = 0, columns = 0, count = 0;  ///< of the whole matrix
  const std::uint32_t* indices = nullptr;          ///< [count]
  std::uint64_t first = 0;                         ///< element where the first of the shares begins
  std::uint64_t share = 0;
  std::uint64_t shares = 1;  ///< that are there, what pads the last one included
  std::uint64_t stride = 0;  ///< elements from one share's columns to the next one's

  /// One past the last element that the shares have of the matrix.
  SPILLWAY_ANYWHERE constexpr std::uint64_t end() const {
    const std::uint64_t last = first + shares * share;
    return last < rows * columns ? last : rows * columns;
  }
  /// Element of the matrix that the number `i` of the packed ones is, counted from `first` on;
  /// `nowhere`: of none.
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};
  SPILLWAY_ANYWHERE constexpr std::uint64_t place(std::uint64_t i) const {
    const std::uint64_t begin = first + i / stride * share, number = i % stride;
    const std::uint64_t limit = begin + share < end() ? begin + share : end();
    const std::uint64_t element =
        count == columns ? begin + number
                         : (begin / columns + number / count) * columns + indices[number % count];
    return element < begin || element >= limit ? nowhere : element - first;
  }
};

/// What a device can compute: the arithmetic of training on plain device memory. One object stands
/// for one stream: calls run in order, and return when they are enqueued.
///   Arithmetic  in fp32 (wider where a device likes), rounded once to the element type of the
///               output, to nearest even
///   Sums        in an order that the shapes alone decide: never alignment, threads or time. The
///               same call on the same device gives the same bits
///   Memory      operands are aligned to 64 bytes where they begin a tensor, slices of rows to
///               their element; an output is an input only where it says so; nothing is allocated
///               but scratch that the object has from its beginning, or keeps below a fixed bound
class Primitives {
 public:
  Primitives() = default;
  virtual ~Primitives() = default;
  Primitives(const Primitives&) = delete;

  // ---- Matrices

  virtual void product(const Product& call) = 0;
  /// y [rows, width] += bias [width], in place.
  virtual void add_bias(std::uint64_t rows, std::uint64_t width, Input bias, Output y) = 0;
  /// sum [width] = over the rows of x [rows, width].
  virtual void sum_rows(std::uint64_t rows, std::uint64_t width, Input x, Output sum) = 0;

  // ---- Norms

  /// layer: y = (x - mean) / sqrt(variance + epsilon) x weight + bias; root_mean_square: y = x /
  /// sqrt(mean of squares + epsilon) x weight.
  ///   statistics  fp32; layer: mean [rows], then 1 / deviation [rows]; else 1 / deviation [rows]
  ///   weight      absent: 1
  ///   bias        may be absent; without a weight it is
  virtual void norm(const Norm& norm, Input x, Input weight, Input bias, float* statistics,
                    Output y) = 0;
  /// weight_gradient and bias_gradient may be absent.
  virtual void norm_backward(const Norm& norm, Input y_gradient, Input x, const float* statistics,
                             Input weight, Output x_gradient, Output weight_gradient,
                             Output bias_gradient) = 0;

  /// norms [rows] = roots of the sums of squares over each row of x [rows, width].
  virtual void row_norms(std::uint64_t rows, std::uint64_t width, Input x, float* norms) = 0;
  virtual void rescale(const Rescale& call, Output y) = 0;
  /// gradient = magnitude / norm x y_gradient, of product and added alike; magnitudes_gradient
  /// [width] = over the rows of (product - bias + added) / norm x y_gradient.
  virtual void rescale_backward(const Rescale& call, Input y_gradient, Output gradient,
                                Output magnitudes_gradient) = 0;

  // ---- Experts

  /// shares [copies] of logits [tokens, experts]: what each copy of a token counts.
  virtual void route(const Routing& routing, Input logits, float* shares) = 0;
  /// Of all logits; those that no share depends on become 0.
  ///   logits  where models::keeps_logits(routing.rule); else it may be absent
  virtual void route_backward(const Routing& routing, Input logits, const float* shares,
                              const float* shares_gradient, Output logits_gradient) = 0;
  /// copies [copies, width]: the row of x that each is of, times its share; shares may be null.
  virtual void scatter_rows(const Routing& routing, std::uint64_t width, const float* shares,
                            Input x, Output copies) = 0;
  /// y [tokens, width]: the sum of each token's copies in the order of its experts, each times its
  /// share; shares may be null.
  virtual void gather_rows(const Routing& routing, std::uint64_t width, const float* shares,
                           Input copies, Output y) = 0;
  /// shares_gradient [copies]: the product of each copy with its token's row of y_gradient.
  virtual void gather_backward(const Routing& routing, std::uint64_t width, Input y_gradient,
                               Input copies, float* shares_gradient) = 0;
  /// y [rows, width] = x times the sigmoid of the row's weight.
  virtual void weigh_rows(std::uint64_t rows, std::uint64_t width, Input x, Input weights,
                          Output y) = 0;
  virtual void weigh_rows_backward(std::uint64_t rows, std::uint64_t width, Input y_gradient,
                                   Input x, Input weights, Output x_gradient,
                                   Output weights_gradient) = 0;

  // ---- Attention

  /// `values` in place.
  virtual void rotate(const Rotation& rotation, Output values) = 0;
  /// Scores, softmax, dropout and values without whole scores in memory.
  ///   Source  Dao et al.: FlashAttention (2022), algorithms 1 and 4
  virtual void attention(const AttentionShape& shape, const AttentionForward& operands) = 0;
  virtual void attention_backward(const AttentionShape& shape,
                                  const AttentionBackward& operands) = 0;
  /// y may be x.
  virtual void softmax(const Softmax& softmax, Input x, Output y) = 0;
  /// x_gradient = y x (y_gradient - sum over the row of y x y_gradient); may be y_gradient.
  virtual void softmax_backward(const Softmax& softmax, Input y_gradient, Input y,
                                Output x_gradient) = 0;

  /// keys of their parts, in memory that is neither's.
  virtual void join_heads(const JoinedHeads& heads, Input own, Input shared, Output keys) = 0;
  /// The parts' gradients: that of `shared` is the sum over the heads, in their order.
  virtual void join_heads_backward(const JoinedHeads& heads, Input keys_gradient,
                                   Output own_gradient, Output shared_gradient) = 0;

  // ---- Element by element; an output may be any input of the same element type

  virtual void activate(models::Activation activation, std::uint64_t count, Input x, Output y) = 0;
  virtual void activate_backward(models::Activation activation, std::uint64_t count,
                                 Input y_gradient, Input x, Output x_gradient) = 0;
  /// y = activation(gate) x up; `activated`, the activation of gate, may be absent.
  virtual void gated_product(const GatedProduct& call, Input gate, Input up, Output activated,
                             Output y) = 0;
  /// `activated` absent: computed again from gate.
  virtual void gated_product_backward(const GatedProduct& call, Input y_gradient, Input gate,
                                      Input up, Input activated, Output gate_gradient,
                                      Output up_gradient) = 0;
  /// y = a + b
  virtual void add(std::uint64_t count, Input a, Input b, Output y) = 0;
  /// y = x times the scaling.
  virtual void scale(const Scaling& by, std::uint64_t count, Input x, Output y) = 0;
  /// y = x in y's element type (y += x where y adds).
  virtual void convert(std::uint64_t count, Input x, Output y) = 0;
  /// mask = 1 where `dropout` keeps, else 0; y = x + mask x scale x f; x may be absent.
  virtual void drop(const Dropout& dropout, std::uint64_t count, Input x, Input f,
                    std::uint8_t* mask, Output y) = 0;
  /// x_gradient = mask x scale x y_gradient
  virtual void drop_backward(const Dropout& dropout, std::uint64_t count, Input y_gradient,
                             const std::uint8_t* mask, Output x_gradient) = 0;

  // ---- Both ends of the model

  /// hidden [rows, width] = words[token] + positions[position]
  virtual void embed(const Embedding& call, Input words, Input positions, Output hidden) = 0;
  /// Sums into every row of both tables, also those that no token chose (where it does not add:
  /// they become 0); tokens in ascending order.
  virtual void embed_backward(const Embedding& call, Input hidden_gradient, Output words,
                              Output positions) = 0;
  /// *loss += sum over rows of (log of the sum of exp(logits) - logit of the label) / tokens.
  ///   loss  memory that the device can write; on CUDA pinned host memory, valid once the stream
  ///         has come past
  virtual void cross_entropy(const CrossEntropy& call, Input logits, double* loss) = 0;
  /// statistics [tokens, 2] of the rows: log of the sum of exp(logits), and the logit of the label
  /// or, where it is a word of another rank, 0.
  virtual void cross_entropy_statistics(const CrossEntropy& call, Input logits,
                                        float* statistics) = 0;
  /// *loss as of cross_entropy, of the statistics [ranks, tokens, 2] of all words.
  ///   shares  [tokens] of the softmax: that of the words of `call.rank`
  virtual void join_losses(const JoinedLoss& call, const float* statistics, float* shares,
                           double* loss) = 0;
  /// logits_gradient = scale x (share x softmax - 1 at the label); may be softmax when types are
  /// equal.
  virtual void cross_entropy_backward(const CrossEntropy& call, Input softmax, float scale,
                                      Output logits_gradient) = 0;

  // ---- States

  /// One step of Adam, in the order of operations that hw_backend/cpu/optimizer_step.hpp writes
  /// down, digit for digit.
  virtual void adam(const AdamArrays& arrays, const AdamNumbers& numbers) = 0;
  /// The same with states in 8 bits: what they were before is widened, and the numbers of each
  /// block, from which masters are computed, are then packed with their largest as scale.
  virtual void adam_in_8_bits(const PackedAdamArrays& arrays, const AdamNumbers& numbers) = 0;
  /// One line of `adam`.
  virtual void adam_part(AdamPart part, const AdamPartArrays& arrays,
                         const AdamNumbers& numbers) = 0;
  /// Likewise of plain gradient descent.
  virtual void sgd(const SgdArrays& arrays, const SgdNumbers& numbers) = 0;
  /// Likewise of what keeps a momentum alone.
  virtual void momentum_step(const MomentumArrays& arrays, const MomentumNumbers& numbers) = 0;
  /// row_means, or column_means, or squares = keep x before + rest x (mean of) gradient squared;
  /// master = decay x master - rate x gradient / root of row_mean x column_mean / mean of
  /// row_means, as adafactor_update and adafactor_rate have it.
  ///   Source  Shazeer and Stern: Adafactor (2018), algorithms 4 and 5; PyTorch 2.5, _adafactor.py
  virtual void adafactor(const AdafactorArrays& arrays, const AdafactorScalars& scalars) = 0;
  /// sums [columns] of the magnitudes in each column of the shares in x, each of its rows in
  /// ascending order, fp32; what is not a number counts as infinite.
  virtual void sum_columns(const ChosenColumns& chosen, Input x, float* sums) = 0;
  /// indices [chosen.count] = the columns whose sums are largest, the largest first, of two alike
  /// the first.
  virtual void choose_columns(const ChosenColumns& chosen, const float* sums,
                              std::uint32_t* indices) = 0;
  /// packed [shares, stride] = the columns of the shares in x, and 0 where there is none.
  virtual void take_columns(const ChosenColumns& chosen, Input x, Output packed) = 0;
  /// The columns of the shares in x = packed; the others stay.
  virtual void put_columns(const ChosenColumns& chosen, Input packed, Output x) = 0;
  /// Elements [first, first + count) of what `slice` takes of a weight that begins by `rule`;
  /// `values` points to the first of them.
  virtual void initialize(const InitialRule& rule, const RandomStream& stream,
                          const WeightSlice& slice, std::uint64_t first, std::uint64_t count,
                          Output values) = 0;
  /// The same of the whole weight.
  void initialize(const InitialRule& rule, const RandomStream& stream, std::uint64_t first,
                  std::uint64_t count, Output values) {
    initialize(rule, stream, WeightSlice(), first, count, values);
  }
  /// packing.elements elements from `first` on of what `slice` takes of a matrix that begins by
  /// `rule`, packed.
  virtual void initialize_packed(const InitialRule& rule, const RandomStream& stream,
                                 const WeightSlice& slice, std::uint64_t first,
                                 const Packing& packing, std::byte* packed) = 0;
  /// y [count] = the first numbers of `packed`.
  virtual void unpack(const Packing& packing, const std::byte* packed, std::uint64_t count,
                      Output y) = 0;
  virtual void zero(std::byte* data, std::uint64_t bytes) = 0;

  // ---- Flags

  /// *found = 1 when one of `count` values is infinite or NaN, else 0.
  virtual void check(std::uint64_t count, Input values, float* found) = 0;
  virtual void set(float value, float* into) = 0;

  // ---- Exact sums of squares, each of 16 numbers in memory (square_sum.hpp)

  /// sum = of the squares of `count` values.
  virtual void sum_squares(std::uint64_t count, Input values, float* sum) = 0;
  /// total = of `count` such sums, one behind the other.
  virtual void add_squares(std::uint64_t count, const float* sums, float* total) = 0;
  /// *root = the square root of such a sum, whose numbers several ranks may have added up.
  virtual void root_of_squares(const float* sum, float* root) = 0;
};

}  // namespace spillway::hw_backend
