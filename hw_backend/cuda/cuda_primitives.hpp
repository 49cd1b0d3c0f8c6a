#pragma once

#include "hw_backend/arithmetic/primitives.hpp"
#include "hw_backend/cuda/matrix_plans.hpp"
#include "hw_backend/cuda/scratch.hpp"

#include <functional>

namespace spillway::hw_backend {

/// The arithmetic on a CUDA device: one object is one stream and its plans of products.
///   Matrices   cuBLASLt in tiles that the shape decides, with fp32 sums (no TF32), an algorithm a
///              shape and a workspace of the object's own; what adds goes through scratch
///   Attention  products of blocks of queries with all keys that they see; softmax and its gradient
///              are rounded to the element type between the products, as tensor cores want them
///   The rest   kernels whose sums are trees that the shapes decide; no atomics
///   Scratch    32 MiB for cuBLAS, 32 MiB for what adds and sums, 48 MiB for attention (more for a
///              sequence of which 64 queries need more), 12 B a token and 2 KiB for losses and
///              embeddings, 0.3 MiB and 4 B a position for the angles of 128 elements a head
///   Device     the object is made, used and destroyed with its device as the thread's own
class CudaPrimitives final : public Primitives {
 public:
  explicit CudaPrimitives(cudaStream_t stream) : stream_(stream) {}

  /// Takes the scratch of every usual shape now.
  ///   Throws  DeviceError
  void reserve();
  /// Takes the scratch that `work` needs, and plans its products, without running it.
  ///   Throws  DeviceError
  void reserve_for(const std::function<void(Primitives&)>& work);

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
  void set(float value, float* into) override;
  void sum_squares(std::uint64_t count, Input values, float* sum) override;
  void add_squares(std::uint64_t count, const float* sums, float* total) override;
  void root_of_squares(const float* sum, float* root) override;

 private:
  void multiply(const Multiplication& call);
  void product_tile(const Product& call);

  cudaStream_t stream_;
  MatrixPlans plans_;
  Scratch workspace_, sums_, attention_, rows_, turns_;
  /// What the table in turns_ is for; a model has one.
  struct TurnsKey {
    double theta = 0;
    std::uint64_t rows = 0, half = 0;
    bool operator==(const TurnsKey&) const = default;
  };
  TurnsKey turns_of_;
};

/// Matrices [batch, rows, columns], dense in `from`, go to `into`: with its strides, rounded, added
/// where it adds.
void store_matrices(cudaStream_t stream, Input from, std::uint64_t rows, std::uint64_t columns,
                    std::uint64_t batch, const MatrixOutput& into);

}  // namespace spillway::hw_backend
