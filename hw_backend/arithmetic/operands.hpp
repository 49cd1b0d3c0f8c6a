#pragma once

#include "hw_backend/arithmetic/execute.hpp"

#include <optional>
#include <vector>

namespace spillway::hw_backend {

/// One call of `execute`.
struct Call {
  Primitives& device;
  const Lowering& lowering;
  const models::Operator& op;
  std::span<const Bound> bound;
  std::byte* workspace;
  const Moment& moment;
  double* loss;

  const models::Architecture& architecture() const { return lowering.model->architecture; }
  const models::Workload& workload() const { return lowering.program->workload; }
  std::uint64_t tokens() const { return workload().tokens(); }
  Element element() const;  ///< of weights, activations and gradients
  SyntheticText text() const;
  /// Of the tokens of each sample, those of this rank.
  TokenShare share() const { return share_of(moment.share); }
  TokenShare share_of(std::uint64_t context_rank) const;
  /// Of the operator: of hidden states, or of attention weights.
  Dropout dropout() const;
  /// Elements [at, at + count) of hidden states that follow each other in those of all ranks too.
  struct Run {
    std::uint64_t at, count;
    Dropout dropout;
  };
  std::vector<Run> runs(std::uint64_t elements) const;
  /// Of the vocabulary, those whose table and logits are here.
  WordShare words() const;
  /// Inputs and outputs of a matrix, or of each of several in one tensor, that this rank has.
  std::uint64_t inputs_of(const models::WeightTensor& matrix) const;
  std::uint64_t outputs_of(const models::WeightTensor& matrix) const;
  /// A bias behind a sum over tensor ranks is one rank's to add.
  bool adds_bias_of(const models::WeightTensor& matrix) const {
    return matrix.cut != models::Cut::rows || moment.tensor == 0;
  }
  /// Of the operator's layer.
  Routing routing() const;
  Norm norm(std::uint64_t elements, std::uint64_t width) const;
  /// Tokens that see each other, and have positions from 0 on: a sample's, or a document's.
  std::uint64_t attended() const;
  /// Of all tokens and this rank's heads; where context ranks are in a ring, of all that their
  /// tensor rank has.
  AttentionShape attention_shape() const;
};

/// An operand bound to memory; without data the gradient of a frozen weight.
struct Operand {
  std::byte* data = nullptr;
  Element type = Element::fp32;
  std::uint64_t elements = 0;
  bool add = false;                              ///< read_write and not fresh
  const models::WeightTensor* weight = nullptr;  ///< of weights and their gradients
  std::optional<PackedMatrix> packing{};         ///< its numbers, of that type, are packed

  Input read() const { return {data, type}; }
  /// Overwrites, or sums where the step program accumulates.
  Output write() const { return {data, type, add}; }
  /// Overwrites what was read here.
  Output replace() const { return {data, type, false}; }
  float* floats() const { return reinterpret_cast<float*>(data); }
  std::uint8_t* mask() const { return reinterpret_cast<std::uint8_t*>(data); }
};

/// Takes an operator's operands one by one, in the order that models::OperatorFunction documents.
class OperandReader {
 public:
  explicit OperandReader(const Call& call) : call_(call) { skip_inputs(); }

  std::size_t left() const;
  /// Whether the next operand is of a bias, or of its gradient.
  bool bias_next() const;
  models::TensorRole next_role() const;
  Operand take();

 private:
  void skip_inputs();
  const Call& call_;
  std::size_t next_ = 0;
};

/// All numbers of a packed operand, in `into`.
void unpack(const Call& call, const Operand& packed, const Output& into);

/// The value `elements` further on.
Input from(Input x, std::uint64_t elements);
Output from(Output x, std::uint64_t elements);

/// Makes an operator into primitives.
using Lower = void (*)(const Call&);

void product(const Call& call);
void product_input_gradient(const Call& call);
void product_weight_gradient(const Call& call);
/// Null for what experts do not do: caps, chosen tokens and diffusion are simulated only.
Lower lowering_of_experts(models::OperatorFunction function);
void tiled_feed_forward(const Call& call);
void tiled_feed_forward_backward(const Call& call);
void weight_norms(const Call& call);
void magnitude(const Call& call);
void magnitude_backward(const Call& call);
void attention_block(const Call& call);
void attention_block_backward(const Call& call);
void attention(const Call& call);
void attention_backward(const Call& call);
void join_key(const Call& call);
void join_key_backward(const Call& call);
void fused_loss(const Call& call);
void fused_loss_backward(const Call& call);
void chunked_loss(const Call& call);
void chunked_loss_backward(const Call& call);
void whole_loss(const Call& call);
void whole_loss_backward(const Call& call);
void joined_loss(const Call& call);

}  // namespace spillway::hw_backend
