#pragma once

#include "models/architecture/model.hpp"
#include "scenarios/description/training.hpp"

#include <optional>

namespace spillway::models {

using description::Bytes;

using Precision = description::Precision;
using Attention = description::AttentionKind;
using Optimizer = description::OptimizerKind;

/// What one rank computes in one micro-batch.
struct Workload {
  Precision precision = Precision::bf16_mixed;
  Optimizer optimizer = Optimizer::adam;
  description::StateWidth states = description::StateWidth::fp32;
  std::uint64_t micro_batch = 1;  ///< samples
  std::uint64_t sequence = 1024;  ///< tokens per sample (T5: of encoder and decoder each)
  std::uint64_t tensor = 1;       ///< tensor-parallel ways; every size below is one rank's
  std::uint64_t expert = 1;       ///< ranks that share the routed experts of a layer
  /// How often each expert of a layer is chosen: the program is that of the busiest rank.
  description::ExpertLoad expert_load{};
  bool experts_on_cpu = false;  ///< what routed experts compute is the CPU's
  Attention attention = Attention::flash;
  bool fused_kernels = true;  ///< one kernel for a gated product, and for a norm
  /// Blocks keep their inputs for backward, whether or not an operator's own backward reads them:
  /// they run again from there.
  bool keeps_inputs = false;
  std::uint64_t mlp_tiles = 1;                  ///< parts of the tokens in dense feed-forwards
  std::optional<description::LossKind> loss{};  ///< none: fused with fused_kernels, else plain
  double dropout = 0;                           ///< of hidden states
  std::optional<double> attention_dropout{};    ///< of attention weights; none: the same
  std::vector<description::RecomputedOperator> recomputed{};  ///< run again by backward
  std::uint64_t document = 0;  ///< packed: tokens of those that see each other; 0: all
  /// Hidden states between matrices that the tensor ranks cut are shared by tokens.
  bool sequence_parallel = false;
  std::uint64_t context = 1;     ///< ranks that share the tokens of each sample
  bool context_in_ring = false;  ///< they pass keys and values on; else they exchange heads
  /// Backward makes gradients of weights in operators behind all others of a layer.
  bool splits_backward = false;
  bool causal_skip = false;  ///< flash: count only the lower triangle of causal attention
  // of models with adapters:
  description::AdapterType adapters = description::AdapterType::bf16;
  description::BaseType base = description::BaseType::bf16;
  double adapter_scale = 1;  ///< of what an adapter adds: alpha / rank
  description::Fp8 fp8{};    ///< of precision fp8

  double dropout_of_attention() const { return attention_dropout.value_or(dropout); }
  /// Of this rank.
  std::uint64_t tokens() const { return micro_batch * sequence / context; }
};

using TensorId = std::uint32_t;

enum class TensorRole {
  weight,
  weight_gradient,
  master,  ///< fp32 copy of a weight (mixed precision)
  momentum,
  variance,
  activation,
  activation_gradient,
  logits,  ///< logits, softmax and their gradients
  input,   ///< token ids, labels: never moved
};

struct Tensor {
  std::string name;
  TensorRole role = TensorRole::activation;
  Bytes bytes;  ///< of one rank
  std::uint64_t elements = 0;
  std::uint32_t layer = 0;              ///< whose forward makes it; of a gradient: of its tensor
  std::optional<std::uint32_t> weight;  ///< index into Model::weights, for weights and their states
  bool is_residual = false;  ///< a block's input or T5's encoder output: what checkpointing keeps
  bool partial = false;      ///< of a weight that is whole on each tensor rank, the gradient: each
                             ///< has a part of its sum
};

enum class Access { read, write, read_write };
struct Operand {
  TensorId tensor = 0;
  Access access = Access::read;
};

enum class OperatorKind {
  embedding,
  norm,
  matmul,
  attention,    ///< scores, softmax and values, flash or materialized
  elementwise,  ///< rope, activation, residual addition, dropout
  loss,
  all_reduce,      ///< tensor-parallel sum of its read_write operand
  all_gather,      ///< its second operand: what each tensor rank has, in rank order
  reduce_scatter,  ///< its second operand: this rank's tokens of the tensor-parallel sum
  all_to_all,      ///< expert-parallel: each rank's part of what is read goes to that rank
  /// Context-parallel: of all heads of a rank's tokens some heads of all tokens, or back.
  context_all_to_all,
  ring_shift,  ///< context-parallel: what is read goes to the next rank
  on_cpu,      ///< the CPU's, of what is copied to it and back
  update,      ///< optimizer step of one weight
};

/// Ranks that share a model meet in it.
constexpr bool is_collective(OperatorKind kind) {
  return kind == OperatorKind::all_reduce || kind == OperatorKind::all_gather ||
         kind == OperatorKind::reduce_scatter || kind == OperatorKind::all_to_all ||
         kind == OperatorKind::context_all_to_all || kind == OperatorKind::ring_shift;
}

/// What an operator computes. Its operands stand in the order given, those in [] only where the
/// model has them; w. is the tensor's weight gradient, without elements where the weight is frozen,
/// g. the gradient of an activation.
enum class OperatorFunction {
  embedding,                ///< tokens, words, [positions], [types], hidden
  embedding_backward,       ///< tokens, g.hidden, w.words, [w.positions], [w.types]
  norm,                     ///< x, [weight, [bias]], statistics, y, [x in fp32], [normed]
  norm_backward,            ///< g.y, x, statistics, [weight, w.weight, [w.bias]], g.x, then what
                            ///< an unfused norm keeps besides: [normed], [x of this type]
  product,                  ///< x, matrices, [biases], outputs (query, key and value of one matrix)
  product_input_gradient,   ///< g.outputs, matrices, g.x
  product_weight_gradient,  ///< g.outputs, x, w.matrices, [w.biases]
  adapter_sum,              ///< y, what an adapter adds to it
  weight_norms,             ///< matrices, A of each, B of each, norms: of the rows of W + scale B A
  magnitude,                ///< products, what adapters add, [biases], magnitudes, norms, outputs:
                            ///< bias + magnitude / norm (product - bias + added)
  magnitude_backward,       ///< g.outputs, then as forward but outputs, w.magnitudes, g.products
  quantize,                 ///< tensors, then of each its 8-bit copy, [transposed]
  quantize_weights,         ///< matrices: the copies lie beside the program's tensors
  rotation,                 ///< query and key where they lie
  rotation_backward,        ///< their gradients where they lie
  attention,        ///< query, key, value, [table or sinks], output; flash: log_sum_exp; else
                    ///< softmax, [dropout mask, dropped softmax]
  attention_block,  ///< query, key and value of a block; output, log_sum_exp: grow by it
  attention_block_backward,  ///< g.output, query, key, value, output, log_sum_exp; g.query, which
                             ///< grows by it, g.key, g.value
  attention_backward,   ///< g.output, query, key, value; flash: output, log_sum_exp; else softmax,
                        ///< [mask, dropped]; g.query, g.key, g.value, [table, w.table]
  activation,           ///< x, y
  activation_backward,  ///< g.y, x, g.x
  gated_product,        ///< gate, up, [activated gate], product
  gated_product_backward,    ///< g.product, then fused: gate and up, which their gradients replace;
                             ///< else gate, up, activated gate, g.gate, g.up
  residual,                  ///< x, f, [mask], y = x + f
  residual_backward,         ///< with dropout only: g.y, mask, g.f
  dropout,                   ///< x where it lies, mask
  dropout_backward,          ///< mask, g.x where it lies
  gradient_sum,              ///< g.from, g.to, which grows by it, or is written
  scatter_experts,           ///< [x], router's logits, shares, [copies]
  scatter_experts_backward,  ///< g.shares, [g.copies], shares, [logits], [g.x], g.logits; without
                             ///< copies where the CPU has the experts
  gather_experts,            ///< parts, shares, output
  gather_experts_backward,   ///< g.output, parts, shares, g.parts, g.shares
  // Its weights are those of each module in turn: matrix, [bias], [A, B, [magnitudes]].
  tiled_feed_forward,           ///< x, weights, y; its products inside
  tiled_feed_forward_backward,  ///< g.y, x, weights, w. of those that train, g.x
  // Of losses, statistics and shares are there where tensor ranks share the words: of each token
  // the log of the sum of exp(logits) over a rank's words and the logit of the label or 0, numbers
  // of 4 bytes; and the sum of the softmax over these words.
  fused_loss,              ///< hidden, matrix, labels, [statistics]; the product of the head inside
  fused_loss_backward,     ///< hidden, matrix, labels, [shares], w.matrix, g.hidden
  chunked_loss,            ///< logits, labels, [statistics]
  chunked_loss_backward,   ///< labels, [shares], logits, which their gradient replaces
  whole_loss,              ///< logits, labels, softmax of the rank's words, [statistics]
  whole_loss_backward,     ///< softmax, labels, [shares], logits, which their gradient replaces
  joined_loss,             ///< statistics of all tensor ranks, shares of this one
  choose_tokens,           ///< index query, index key, shares of heads, chosen tokens
  choose_tokens_backward,  ///< the same; g.query, g.key, g.shares, of a loss of its own
  convolution,             ///< x, kernels, y: over the latest tokens of each channel, activated
                           ///< unless gates are around it
  convolution_backward,    ///< g.y, x, kernels, w.kernels, g.x
  delta_rule,              ///< query, key and value, in one or apart, rates, decay (two), decays,
                           ///< inverses, y
  delta_rule_backward,     ///< g.y, then as forward but y, w.decay (two), g.mixed, g.rates
  state_space,             ///< mixed, rates, decay (three), decays, y
  state_space_backward,    ///< g.y, then as forward but y, w.decay (three), g.mixed, g.rates
  gated_norm,              ///< x, gate, weight, statistics, y: the norm of x by silu(gate)
  gated_norm_backward,     ///< g.y, x, gate, statistics, weight, w.weight, g.x, g.gate
  output_gate,             ///< x, gate, y = x sigmoid(gate)
  output_gate_backward,    ///< g.y, x, gate, g.x, g.gate
  element_product,         ///< x, y, x times y
  element_product_backward,  ///< g.product, x, y, g.x, g.y
  scale_shares,              ///< shares of a token's experts, a factor an expert, scaled
  scale_shares_backward,     ///< g.scaled, shares, factors, w.factors, g.shares
  soft_cap,                  ///< x, y = c tanh(x / c)
  soft_cap_backward,         ///< g.y, y, g.x
  weighing,                  ///< x, a weight a row, y
  weighing_backward,         ///< g.y, x, weights, g.x, g.weights
  join_key,                  ///< each head's own part, the part of all heads, keys
  join_key_backward,         ///< g.keys, g.own, g.shared
  modulation,                ///< x, modulation, y: adaLN's scale and shift of x, or its gate
  modulation_backward,       ///< g.y, x, modulation, g.x, g.modulation
  squared_loss,              ///< predicted, noise
  squared_loss_backward,     ///< noise, predicted, which its gradient replaces
  all_reduce,                ///< what is summed
  all_gather,                ///< this rank's part, those of all
  reduce_scatter,            ///< what is summed, this rank's tokens of the sum
  context_all_to_all,        ///< what goes to the context group's ranks, what comes from them
  ring_shift,                ///< what goes to the next context rank, what comes from the one before
  all_to_all,                ///< what goes to the group's ranks, what comes from them
  cpu_experts,               ///< x, shares, output
  cpu_experts_backward,      ///< g.output, x, shares, g.x, g.shares
  update,                    ///< weight, w.weight, then its states
};

/// Rows x columns x inner of a GEMM, `batch` of them: out[m,n] = a[m,k] b[k,n]
struct GemmShape {
  std::uint64_t m = 0, n = 0, k = 0, batch = 1;
};

/// Products with the narrow matrices of adapters, inside an operator that has wider ones: kernels
/// of their own, which nothing beside them hides.
struct NarrowProducts {
  Flops flops;
  Bytes bytes;     ///< with DoRA also what the norms of whole matrices take
  GemmShape gemm;  ///< of one of them
};

/// The unit of work: one kernel (or one fused group that every implementation fuses).
struct Operator {
  std::string name;
  OperatorKind kind = OperatorKind::elementwise;
  OperatorFunction function = OperatorFunction::update;
  std::uint32_t layer = 0;
  std::vector<Operand> operands;
  std::vector<TensorId> saved;  ///< forward only: what its backward will read (subset of operands)
  Bytes workspace;        ///< scratch while it runs (materialized scores that nobody saves, ...)
  Flops flops;            ///< of matrix products; 0 for memory-bound work
  Bytes bytes;            ///< device memory traffic, read + written
  Bytes widened;          ///< of it: packed weights read and their wide copies written, which the
                          ///< product waits for
  NarrowProducts narrow;  ///< of its FLOPs and bytes: what adapters of tiles take
  Bytes orthogonalizing;  ///< of it: of an update's products, which need whole matrices
  Bytes cpu_keeps;        ///< on_cpu: in host memory, from forward to backward
  Bytes cpu_works;        ///< on_cpu: in host memory, while it runs
  GemmShape gemm;         ///< matmul, and what has matmuls inside: loss, feed-forward in tiles
  /// Of an all-to-all: in so many pieces of one length lies each part of what goes and of what
  /// comes, the parts taking turns.
  std::uint64_t pieces_out = 1, pieces_in = 1;
  bool returns = false;    ///< all_to_all: copies of tokens come back from their experts
  bool fp8 = false;        ///< a product of 8-bit copies
  bool causal = false;     ///< attention
  bool beside = false;     ///< ring_shift: the kernel behind it does not wait for it, others do
  std::uint32_t draw = 0;  ///< what drops elements: its number among those of its layer, backward
                           ///< as forward
};

/// Operators [first, last) of StepProgram::operators.
struct Span {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

struct LayerSpan {
  Span forward;
  Span backward;
  /// Its last operators of backward that make gradients of weights alone and may run later; none
  /// unless backward is split (Workload::splits_backward).
  std::uint32_t weights_apart = 0;
  std::optional<TensorId> input;            ///< hidden states that enter (none for the embedding)
  std::optional<TensorId> output;           ///< hidden states that leave (none for the head)
  std::optional<TensorId> output_gradient;  ///< what the layer's backward starts from
  /// False below the first layer that trains a weight.
  bool goes_back() const { return backward.first < backward.last; }
  Span input_gradients() const { return {backward.first, backward.last - weights_apart}; }
  Span weight_gradients() const { return {backward.last - weights_apart, backward.last}; }
};

/// One training step of one rank and one micro-batch: forward, backward, update, operators in
/// order. Every size and cost of spillway derives from this one description.
///   Layout      tensor i is the weight i of the model, for all i < Model::weights.size()
///   Frozen      weights have gradients and states without elements, and no update. Layers below
///               the first that trains a weight save nothing and have no backward; the gradient of
///               what comes from them is made all the same, as checkpointing asks for it
///   Invariants  an operand is written before it is read, but for weights, their gradients and
///               states, and inputs; `saved` tensors are read by some backward operator of the same
///               layer, which reads no other activations of a forward; each weight_gradient is
///               accumulated (read_write) by the backward of every layer that uses the weight;
///               running a layer's forward again makes all that it saved but what other layers made
struct StepProgram {
  Workload workload;
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;
  std::vector<LayerSpan> layers;  ///< parallel to Model::layers
  Span forward, backward, update;
  /// Of the copies of a rank's tokens, how many go to each rank of its expert group; empty without
  /// such a group.
  std::vector<std::uint64_t> to_expert_ranks;

  Flops forward_flops() const;  ///< of one micro-batch and rank, no recomputation
  Flops flops(Span span) const;
  /// Tensors that the forward of `layer` saves for its backward, each once, in order of saving;
  /// weights and token ids not included; the layer's input is.
  std::vector<TensorId> saved_by(std::uint32_t layer) const;
};

/// Builds the step program of `model` under `workload`.
///   Throws  ScenarioError when heads, kv heads or ffn do not divide by `tensor`, or the sequence
///           is longer than a learned position table (rotary positions have no end)
StepProgram build_step_program(const Model& model, const Workload& workload);

}  // namespace spillway::models
