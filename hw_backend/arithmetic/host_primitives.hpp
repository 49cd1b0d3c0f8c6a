#pragma once

#include "hw_backend/arithmetic/host_multiply.hpp"
#include "hw_backend/arithmetic/primitives.hpp"
#include "hw_backend/cpu/team.hpp"

#include <array>
#include <memory>

namespace spillway::hw_backend {

/// fp32 memory for intermediate values; grows to the largest request and stays.
class HostScratch {
 public:
  /// Arrays of the given sizes, each aligned to 64 bytes: valid until the next call.
  template <std::size_t count>
  std::array<float*, count> take(const std::array<std::size_t, count>& sizes) {
    std::size_t total = 0;
    for (const std::size_t size : sizes) total += padded(size);
    float* next = reserve(total);
    std::array<float*, count> parts{};
    for (std::size_t i = 0; i < count; ++i, next += padded(sizes[i - 1])) parts[i] = next;
    return parts;
  }

 private:
  static constexpr std::size_t line = 16;  // elements of 64 bytes
  static std::size_t padded(std::size_t size) { return (size + line - 1) / line * line; }
  float* reserve(std::size_t total);

  std::unique_ptr<float[]> memory_;
  std::size_t size_ = 0;
};

/// The arithmetic on a processor: one object is one stream and computes on the thread that calls.
///   Matrices  Eigen's products of blocks that were widened to fp32 in scratch of the object's own,
///             so that the order of sums knows neither the operands' alignment nor their type;
///             it is another one on each instruction set
///   Scratch   3.5 MiB for products; for attention 4 x sequence x head_dim + 192 x (sequence +
///             head_dim) elements of fp32, of the wider heads; a few rows for the others
class HostPrimitives final : public Primitives {
 public:
  explicit HostPrimitives(Isa isa = best_isa());

  void product(const Product& call) override;
  void add_bias(std::uint64_t rows, std::uint64_t width, Input bias, Output y) override;
  void sum_rows(std::uint64_t rows, std::uint64_t width, Input x, Output sum) override;

  void norm(const Norm& norm, Input x, Input weight, Input bias, float* statistics,
            Output y) override;
  void norm_backward(const Norm& norm, Input y_gradient, Input x, const float* statistics,
                     Input weight, Output x_gradient, Output weight_gradient,
                     Output bias_gradient) override;

  void row_norms(std::uint64_t rows, std::uint64_t width, Input x, float* norms) override;
  void rescale(const Rescale& call, Output y) override;
  void rescale_backward(const Rescale& call, Input y_gradient, Output gradient,
                        Output magnitudes_gradient) override;

  void route(const Routing& routing, Input logits, float* shares) override;
  void route_backward(const Routing& routing, Input logits, const float* shares,
                      const float* shares_gradient, Output logits_gradient) override;
  void scatter_rows(const Routing& routing, std::uint64_t width, const float* shares, Input x,
                    Output copies) override;
  void gather_rows(const Routing& routing, std::uint64_t width, const float* shares, Input copies,
                   Output y) override;
  void gather_backward(const Routing& routing, std::uint64_t width, Input y_gradient, Input copies,
                       float* shares_gradient) override;
  void weigh_rows(std::uint64_t rows, std::uint64_t width, Input x, Input weights,
                  Output y) override;
  void weigh_rows_backward(std::uint64_t rows, std::uint64_t width, Input y_gradient, Input x,
                           Input weights, Output x_gradient, Output weights_gradient) override;

  void rotate(const Rotation& rotation, Output values) override;
  void attention(const AttentionShape& shape, const AttentionForward& operands) override;
  void attention_backward(const AttentionShape& shape, const AttentionBackward& operands) override;
  void join_heads(const JoinedHeads& heads, Input own, Input shared, Output keys) override;
  void join_heads_backward(const JoinedHeads& heads, Input keys_gradient, Output own_gradient,
                           Output shared_gradient) override;
  void softmax(const Softmax& softmax, Input x, Output y) override;
  void softmax_backward(const Softmax& softmax, Input y_gradient, Input y,
                        Output x_gradient) override;

  void activate(models::Activation activation, std::uint64_t count, Input x, Output y) override;
  void activate_backward(models::Activation activation, std::uint64_t count, Input y_gradient,
                         Input x, Output x_gradient) override;
  void gated_product(const GatedProduct& call, Input gate, Input up, Output activated,
                     Output y) override;
  void gated_product_backward(const GatedProduct& call, Input y_gradient, Input gate, Input up,
                              Input activated, Output gate_gradient, Output up_gradient) override;
  void add(std::uint64_t count, Input a, Input b, Output y) override;
  void scale(const Scaling& by, std::uint64_t count, Input x, Output y) override;
  void convert(std::uint64_t count, Input x, Output y) override;
  void drop(const Dropout& dropout, std::uint64_t count, Input x, Input f, std::uint8_t* mask,
            Output y) override;
  void drop_backward(const Dropout& dropout, std::uint64_t count, Input y_gradient,
                     const std::uint8_t* mask, Output x_gradient) override;

  void embed(const Embedding& call, Input words, Input positions, Output hidden) override;
  void embed_backward(const Embedding& call, Input hidden_gradient, Output words,
                      Output positions) override;
  void cross_entropy(const CrossEntropy& call, Input logits, double* loss) override;
  void cross_entropy_statistics(const CrossEntropy& call, Input logits, float* statistics) override;
  void join_losses(const JoinedLoss& call, const float* statistics, float* shares,
                   double* loss) override;
  void cross_entropy_backward(const CrossEntropy& call, Input softmax, float scale,
                              Output logits_gradient) override;

  void adam(const AdamArrays& arrays, const AdamNumbers& numbers) override;
  void adam_in_8_bits(const PackedAdamArrays& arrays, const AdamNumbers& numbers) override;
  void adam_part(AdamPart part, const AdamPartArrays& arrays, const AdamNumbers& numbers) override;
  void sgd(const SgdArrays& arrays, const SgdNumbers& numbers) override;
  void momentum_step(const MomentumArrays& arrays, const MomentumNumbers& numbers) override;
  void adafactor(const AdafactorArrays& arrays, const AdafactorScalars& scalars) override;
  void sum_columns(const ChosenColumns& chosen, Input x, float* sums) override;
  void choose_columns(const ChosenColumns& chosen, const float* sums,
                      std::uint32_t* indices) override;
  void take_columns(const ChosenColumns& chosen, Input x, Output packed) override;
  void put_columns(const ChosenColumns& chosen, Input packed, Output x) override;
  using Primitives::initialize;
  void initialize(const InitialRule& rule, const RandomStream& stream, const WeightSlice& slice,
                  std::uint64_t first, std::uint64_t count, Output values) override;
  void initialize_packed(const InitialRule& rule, const RandomStream& stream,
                         const WeightSlice& slice, std::uint64_t first, const Packing& packing,
                         std::byte* packed) override;
  void unpack(const Packing& packing, const std::byte* packed, std::uint64_t count,
              Output y) override;
  void zero(std::byte* data, std::uint64_t bytes) override;

  void check(std::uint64_t count, Input values, float* found) override;
  void set(float value, float* into) override { *into = value; }

  void sum_squares(std::uint64_t count, Input values, float* sum) override;
  void add_squares(std::uint64_t count, const float* sums, float* total) override;
  void root_of_squares(const float* sum, float* root) override;

 private:
  /// Elements [first, first + count) in fp32: where they lie, or in `buffer`. Null when absent.
  const float* widen(Input x, std::uint64_t first, std::size_t count, float* buffer);
  /// The same, always in `into`.
  void widen_into(Input x, std::uint64_t first, std::size_t count, float* into);
  /// Rounds `values` into elements [first, first + count) of `y`.
  void narrow(float* values, Output y, std::uint64_t first, std::size_t count);

  /// work(first element, count, inputs, outputs) over pieces of `count` elements, all in fp32;
  /// outputs are stored when a piece is done, so that they may take the place of inputs.
  template <std::size_t ins, std::size_t outs, class Work>
  void map(std::uint64_t count, const std::array<Input, ins>& inputs,
           const std::array<Output, outs>& outputs, const Work& work);

  void load_rows(Input x, std::uint64_t first, std::uint64_t stride, std::size_t rows,
                 std::size_t width, float* into);
  void store_rows(float* rows_of, Output y, std::uint64_t first, std::uint64_t stride,
                  std::size_t rows, std::size_t width);

  Team team_;
  MultiplyKernel* multiply_;
  HostScratch scratch_;
};

}  // namespace spillway::hw_backend
