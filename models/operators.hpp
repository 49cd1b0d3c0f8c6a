#pragma once

#include "models/tape.hpp"

#include <array>

namespace spillway::models {

/// The matrices of one matrix product (several: one per expert) and their bias vectors.
struct Linear {
  std::vector<std::uint32_t> matrices;
  std::vector<std::uint32_t> biases;
};

/// The weights of one layer by what they are for, each kind in the order of use.
class LayerWeights {
 public:
  LayerWeights(const Model& model, std::uint32_t layer);
  const std::vector<Linear>& of(WeightKind kind) const {
    return by_kind_[static_cast<std::size_t>(kind)];
  }
  bool has(WeightKind kind) const { return !of(kind).empty(); }
  /// All matrices of a kind as one group: the experts of a block.
  Linear group(WeightKind kind) const;

 private:
  std::array<std::vector<Linear>, static_cast<std::size_t>(WeightKind::norm) + 1> by_kind_;
};

// Each of these appends one forward operator and records its backward. Widths are one rank's.

/// `x` [rows, inputs] times `weights` [inputs, width of all outputs]; backward: two products.
///   With several matrices each multiplies rows / matrices of the rows
void matmul(Tape& tape, std::string_view name, Value x, const Linear& weights, std::uint64_t rows,
            std::uint64_t inputs, const std::vector<Value>& outputs);
/// LayerNorm or RMSNorm over the hidden width; saves `x` and its statistics.
///   weights  none: a norm that the model has no weights for
Value norm(Tape& tape, std::string_view name, Value x, const Linear* weights);
struct BothWays {
  OperatorFunction forward, backward;
};
/// Any point-wise operator that saves `saved`, a part of its operands.
void elementwise(Tape& tape, std::string_view name, BothWays functions,
                 const std::vector<Value>& inputs, const std::vector<Value>& outputs,
                 std::vector<TensorId> saved);
/// y = x + dropout(f); saves the mask, one byte an element, when there is dropout.
Value residual(Tape& tape, std::string_view name, Value x, Value f);
/// Dropout of `x` where it lies.
void dropout(Tape& tape, std::string_view name, Value x);
/// Rotates queries and keys where they lie.
void rope(Tape& tape, Value query, Value key);

struct AttentionCall {
  std::string prefix;
  Value query, key, value, output;
  bool causal = false;
  std::optional<std::uint32_t> relative_positions;  ///< T5's table
};
void attention(Tape& tape, const AttentionCall& call);

/// The feed-forward half of the block whose weights are `weights`: its output, whole on each rank.
///   x  the half's input, already normed where the block norms first
Value feed_forward(Tape& tape, const LayerWeights& weights, Value x);

/// Whether the type drops hidden elements; llama and its kin drop attention weights only.
bool drops_hidden(const Tape& tape);

}  // namespace spillway::models
