#pragma once

#include "models/program/tape.hpp"

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
///   batch  matrices in one tensor; 0: one in each
void matmul(Tape& tape, std::string_view name, Value x, const Linear& weights, std::uint64_t rows,
            std::uint64_t inputs, const std::vector<Value>& outputs, std::uint64_t batch = 0);
/// The matrices of one product as kernels read them: copies are scratch, written and read, or are
/// there already in place of what they were made of.
void add_copies(const Tape& tape, Operator& op, const Linear& weights);
/// Each tensor rank will make a part of the weights' gradients.
void mark_partial(Tape& tape, const Linear& weights);
/// The adapters of all matrices of a product; empty where it has none.
struct Adapters {
  Linear down, up, magnitudes;
};
/// Of an adapter of a matrix that tensor ranks cut, what is whole on each rank: its gradient is a
/// sum over them, as what it multiplies, or is multiplied by, is a part.
void mark_whole(Tape& tape, const Adapters& adapters);
/// A product whose outputs are not yet those of its module.
struct AdaptedProduct {
  Linear weights;
  Adapters adapters;
  std::vector<Value> outputs;
};
/// `outputs` of the module: the sum of each output of `product` and of what its adapters add, times
/// magnitude / norm of its row of W + scale B A. The norms are constants to backward.
///   Source  Liu et al.: DoRA (2024), equation 5 and 4.3
void rescale(Tape& tape, const std::string& name, const AdaptedProduct& product,
             const std::vector<Value>& added, const std::vector<Value>& outputs);
/// LayerNorm or RMSNorm over all that a token has in `x`; saves `x` and its statistics.
///   weights  none: a norm that the model has no weights for
Value norm(Tape& tape, std::string_view name, Value x, const Linear* weights);
/// The same over rows of `width` elements: heads.
Value norm_rows(Tape& tape, std::string_view name, Value x, const Linear* weights,
                std::uint64_t width);
struct BothWays {
  OperatorFunction forward, backward;
};
/// Any point-wise operator that saves `saved`, a part of its operands.
void elementwise(Tape& tape, std::string_view name, BothWays functions,
                 const std::vector<Value>& inputs, const std::vector<Value>& outputs,
                 std::vector<TensorId> saved);
/// y = x + dropout(f); saves the mask, one byte an element, when there is dropout.
Value residual(Tape& tape, std::string_view name, Value x, Value f);
/// silu(gate) * up in one kernel each way: silu(gate) is computed again, and the gradients take the
/// place of gate and up.
///   Source  Liger Kernel, ops/swiglu.py
Value fused_gated_product(Tape& tape, const std::string& prefix, Value gate, Value up);
/// y = x + f
Value sum(Tape& tape, std::string_view name, Value x, Value f);
/// Dropout of `x` where it lies.
void dropout(Tape& tape, std::string_view name, Value x);
/// Rotates queries and keys where they lie, or of each head Architecture::rotated_dims.
///   widths  of a head of queries and of keys
void rope(Tape& tape, Value query, Value key, std::uint64_t query_dim, std::uint64_t key_dim);

struct AttentionCall {
  std::string prefix;
  Value query, key, value, output;
  bool causal = false;
  std::uint64_t window = 0;  ///< as BlockTraits has it
  bool chunked = false;
  std::optional<TensorId>
      chosen;  ///< the tokens that each query attends to, where there is a choice
  std::vector<std::uint32_t> tables;  ///< T5's relative positions, or sinks
};
void attention(Tape& tape, const AttentionCall& call);
/// Of ranks that share the tokens of a sample and pass keys and values on, a block each: in forward
/// each rank sends those of all but its own once round, in backward once more, and their gradients
/// home. Two blocks at most are on a rank at once besides its own, not all tokens.
///   flops    of all blocks; each has as many, as tokens lie in a zigzag
///   Time     of a block the longer of its kernel and of sending the next; the last of the
///            gradients come home beside nothing
///   Source   Liu et al.: Ring Attention (2023), 3; Transformer Engine, AttnFuncWithCPAndKVP2P
void ring_attention(Tape& tape, const AttentionCall& call, Flops flops);

/// An attention half without norm and residual.
struct AttentionHalf {
  std::string prefix = "attention";
  std::size_t number = 0;       ///< which attention of the block
  std::optional<Value> source;  ///< of keys and values; none: the half's input
  bool causal = false;
  BlockTraits traits;
  std::optional<std::uint32_t> relative_positions;
  /// Tokens chosen by an earlier block; set by a half that chooses. Null: the block is no
  /// decoder's.
  std::optional<TensorId>* chosen = nullptr;
};
/// Its output, whole on each rank.
Value attention_half(Tape& tape, const LayerWeights& weights, const AttentionHalf& half, Value x);

/// What mixes tokens by a state that goes from chunk to chunk, behind a short convolution and
/// before a gated norm: linear attention by the gated delta rule, or a state space. Its output,
/// whole on each rank.
///   Source  Gated Delta Networks (2024), 3.3; Mamba 2 (2024), 6 and 7
Value linear_attention(Tape& tape, const LayerWeights& weights, Value x);

/// A convolution over the latest tokens of each channel between two gates, all three of one
/// projection: gate (kernel * (gate x)). Saved is the input of each of the three. Its output, whole
/// on each rank.
///   Source  LFM2 Technical Report (2025), 2.2; causal_conv1d
Value short_convolution(Tape& tape, const LayerWeights& weights, Value x);

/// Scores each earlier token by narrow heads and chooses some; their int32 numbers, a list a token.
/// The scores learn by a loss of their own, which reaches neither `x` nor `latent`.
///   x, latent  hidden states, and the normed latent of queries
///   Source     DeepSeek-V3.2-Exp (2025), 2.1 and 2.1.1
TensorId choose_tokens(Tape& tape, const LayerWeights& weights, const std::string& prefix, Value x,
                       Value latent);

/// The feed-forward half of the block whose weights are `weights`: its output, whole on each rank.
///   x  the half's input, already normed where the block norms first
Value feed_forward(Tape& tape, const LayerWeights& weights, Value x);
/// One feed-forward without experts: what its weights are, and how many tokens go through it.
struct DenseFeedForward {
  std::string prefix;
  WeightKind gate, up, down;
  std::uint64_t rows = 0;
  std::uint64_t width = 0;  ///< between its matrices, one rank's
};
/// The same over Workload::mlp_tiles parts of the tokens, one after the other.
Value feed_forward_in_tiles(Tape& tape, const LayerWeights& weights, const DenseFeedForward& of,
                            Value x);
/// The experts alone, chosen by what the router makes of `routed`.
Value experts_half(Tape& tape, const LayerWeights& weights, Value x, Value routed);
/// The feed-forward without experts alone.
Value dense_half(Tape& tape, const LayerWeights& weights, Value x);

/// Whether dropout is on and the type drops hidden elements.
bool drops_hidden(const Tape& tape);

}  // namespace spillway::models
