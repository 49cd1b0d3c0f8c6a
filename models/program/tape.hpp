#pragma once

#include "models/program/formats.hpp"
#include "models/program/step_program.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace spillway::models {

/// A tensor on the way forward and the slot in which its gradient is summed on the way back.
struct Value {
  TensorId tensor = 0;
  std::uint32_t slot = 0;
};

/// Records a step program: forward operators as they come, and with each how to go back.
///   Invariant  backward operators are those of the forward in reverse; every consumer of a value
///              has added to its gradient before the operator that made the value reads it
class Tape {
 public:
  Tape(const Model& model, const Workload& workload);

  const Model& model() const { return model_; }
  /// As the block that is recorded has it.
  const Architecture& architecture() const { return here_ ? *here_ : model_.architecture; }
  /// What follows of the layer is of a block of these traits.
  void enter_block(const BlockTraits& traits) { here_ = model_.architecture.of_block(traits); }
  const Workload& workload() const { return program_.workload; }
  std::uint64_t tokens() const { return program_.workload.tokens(); }
  /// Of what is recorded so far, weights first.
  const std::vector<Tensor>& tensors() const { return program_.tensors; }
  const std::vector<std::uint64_t>& to_expert_ranks() const { return program_.to_expert_ranks; }
  std::uint64_t element() const { return element_; }
  /// One rank's share of `width`, which the tensor ways divide (a vocabulary: rounded up).
  std::uint64_t split(std::uint64_t width) const;
  bool is_split() const { return program_.workload.tensor > 1; }
  bool splits_tokens() const { return is_split() && program_.workload.sequence_parallel; }
  /// Sequence parallel: `x` is of this rank's share of the tokens.
  bool has_own_tokens(Value x) const { return slots_[x.slot].of_own_tokens; }
  /// Tokens of `x` that this rank has: all, or its share.
  std::uint64_t rows(Value x) const {
    return has_own_tokens(x) ? tokens() / program_.workload.tensor : tokens();
  }

  void begin_layer(std::uint32_t layer, std::optional<Value> input);
  /// The input of the layer that is recorded, which is a block.
  bool is_input_of_block(Value x) const {
    return model_.layers[layer_].is_block && program_.layers[layer_].input == x.tensor;
  }
  void end_layer(std::optional<Value> output);

  TensorId tensor(std::string_view name, std::uint64_t elements, std::uint64_t element_bytes,
                  TensorRole role = TensorRole::activation);
  Value value(std::string_view name, std::uint64_t elements,
              TensorRole role = TensorRole::activation);
  Value value_of(TensorId tensor);
  /// `width` elements for each token that this rank has of `x`.
  Value value_beside(Value x, std::string_view name, std::uint64_t width);
  /// As many elements as `x`, of the same tokens.
  Value value_like(Value x, std::string_view name);
  void mark_residual(Value value) { program_.tensors[value.tensor].is_residual = true; }
  std::uint64_t elements(Value v) const { return program_.tensors[v.tensor].elements; }

  /// Appends an operator whose traffic is that of its operands; what is returned can still be
  /// amended until the next call. In place of gathered tokens forward saves this rank's, and
  /// backward gathers them again before it reads them.
  Operator& add(std::string_view name, OperatorFunction function, std::vector<Operand> operands,
                std::vector<TensorId> saved = {});
  /// A number for what draws random numbers, from 0 in each layer.
  std::uint32_t next_draw() { return draws_++; }
  /// `step` will append the backward of what was just added.
  void on_backward(std::function<void()> step);

  /// The layer that is recorded has a backward.
  bool goes_back() const { return layer_ >= first_trained_; }
  TensorId weight(std::uint32_t index) const { return index; }
  bool trains(std::uint32_t index) const { return !model_.weights[index].frozen; }
  /// Kernels that read the weight widen or narrow it first: bytes of the copy, else 0.
  Bytes copy_of(std::uint32_t index) const;
  /// Products multiply an 8-bit copy of the weight.
  bool in_fp8(std::uint32_t index) const {
    return workload().precision == Precision::fp8 && model_.weights[index].multiplies_in_block();
  }
  /// Such copies stay from the first micro-batch of a step to its last.
  bool keeps_copies() const {
    return workload().fp8.weight_copies == description::WeightCopies::kept;
  }
  /// The 8-bit copies of a value that products read.
  struct Quantized {
    TensorId plain = 0, transposed = 0;  ///< the same where no product needs a transposed one
  };
  /// Of the input `x` of products of this layer, made once for all of them.
  ///   keeps  a weight gradient will read it
  Quantized quantized(std::string_view name, Value x, bool keeps);
  /// Of the finished gradients of `outputs`, in backward: operands for who reads them.
  ///   transposed  for a weight gradient as well
  std::vector<Quantized> quantized_gradients(std::string_view name,
                                             const std::vector<Value>& outputs, bool transposed);
  Bytes bytes_of(std::uint32_t index) const { return program_.tensors[index].bytes; }
  std::uint64_t elements_of(std::uint32_t index) const { return program_.tensors[index].elements; }
  Operand weight_gradient(std::uint32_t index) const;
  /// Each tensor rank will make a part of the weight's gradient, if it has one: of some tokens, or
  /// heads.
  void mark_partial(std::uint32_t index) {
    if (trains(index)) program_.tensors[model_.weights.size() + index].partial = true;
  }
  /// The finished gradient of `value`, to be read.
  Operand gradient(Value value) const;
  /// The gradient of `one`, so far, is that of `other`: a residual has passed it to both.
  bool shares_gradient(Value one, Value other) const;
  /// Adds to `operands` what summing into the gradient of `value` takes.
  void accumulate(std::vector<Operand>& operands, Value value);
  /// Adds to `operands` that the gradient of `value`, which nobody has added to, takes the place of
  /// the value itself.
  void replace_by_gradient(std::vector<Operand>& operands, Value value);
  /// The gradient of `to` is that of `from`; what is added to it later takes its place.
  void pass_gradient(Value from, Value to);

  /// Backward and update operators; the tape is empty afterwards.
  StepProgram finish();

 private:
  struct Slot {
    TensorId tensor = 0;  ///< whose gradient
    TensorId gradient = 0;
    enum class State { none, passed, own } state = State::none;
    bool partial = false;        ///< before its sum over the tensor ranks
    bool of_own_tokens = false;  ///< sequence parallel: of this rank's share of the tokens
  };
  /// Tokens of all tensor ranks, gathered for the matrices that they cut.
  struct Gathered {
    TensorId own = 0;
    std::uint32_t op = 0;           ///< that gathers all of them in forward
    std::optional<TensorId> again;  ///< gathered in backward
  };
  struct Step {
    std::uint32_t layer;
    std::function<void()> run;
  };

  void add_weights();
  /// One for each weight, of one rank, in the format of the weight with that number; none: empty.
  void add_tensors(TensorRole role, const char* suffix,
                   const std::function<std::optional<NumberFormat>(std::uint32_t)>& format);
  std::uint64_t elements_of(const WeightTensor& weight) const;
  void add_updates();
  void orthogonalize(Operator& update, const WeightTensor& weight);
  void rescale_by_factors(Operator& update, const WeightTensor& weight);
  TensorId new_gradient(const Slot& slot);
  Operator& append(std::string_view name, OperatorFunction function, std::vector<Operand> operands);
  void save_own_tokens(std::vector<TensorId>& saved);
  void gather_again(std::vector<Operand>& operands);
  friend Value enter_split(Tape& tape, Value value);
  friend Value gather_tokens(Tape& tape, Value own);
  friend Value leave_split(Tape& tape, Value value);

  const Model& model_;
  std::optional<Architecture> here_;
  StepProgram program_;
  std::uint64_t element_;        ///< bytes of one of an activation
  std::uint32_t first_trained_;  ///< layer
  std::uint32_t layer_ = 0;
  std::uint32_t draws_ = 0;                          ///< of the layer
  bool backward_ = false;                            ///< finish() appends it
  std::unordered_map<TensorId, Gathered> gathered_;  ///< by the tensor of all tokens
  /// What quantized() has made of this layer's values.
  struct MadeOnce {
    TensorId of;
    bool keeps;
    Quantized copies;
  };
  std::vector<MadeOnce> quantized_;
  std::string prefix_;
  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  std::vector<std::optional<Value>> outputs_;
};

/// Where ranks share the tokens of samples and exchange heads: of `value`, all heads of a rank's
/// tokens, [tokens, all heads], some heads of all tokens, [samples, sequence, heads]; as many
/// elements. Its gradient goes back the same way. Else `value` itself.
Value exchange_heads(Tape& tape, std::string_view name, Value value);
/// The way back, of some heads of all tokens.
Value exchange_tokens(Tape& tape, std::string_view name, Value value);
/// The copies of tokens, `value`, to the ranks of the expert group that have their experts:
/// `elements` come from all of them, of the busiest. The gradient goes back the same way. Without
/// such a group `value` itself.
Value dispatch(Tape& tape, std::string_view name, Value value, std::uint64_t elements);
/// The way back: `elements` of the copies that this rank sent.
Value combine(Tape& tape, std::string_view name, Value value, std::uint64_t elements);
/// `value` as the input of matrices cut by columns: its gradient, partial on each rank, is summed.
/// Where ranks share the tokens it is gathered first.
Value enter_split(Tape& tape, Value value);
/// The sum of `value`, partial on each rank behind matrices cut by rows; its gradient is whole.
/// Where ranks share the tokens each has its own of the sum.
Value leave_split(Tape& tape, Value value);

}  // namespace spillway::models
