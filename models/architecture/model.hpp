#pragma once

#include "models/architecture/architecture.hpp"
#include "scenarios/description/units.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::models {

using description::Flops;
using description::Params;

/// What a weight tensor is for; decides its buffer class, its weight decay and its tensor split.
enum class WeightKind {
  embedding,
  positions,
  query,
  key,
  value,
  attention_output,
  ffn_gate,
  ffn_up,  ///< or gate and up in one matrix
  ffn_down,
  router,
  lm_head,
  other_matrix,
  query_latent,  ///< hidden states to the latent of queries
  key_latent,    ///< hidden states to the latent of keys and values, and the rotated part of keys
  key_value,     ///< that latent to keys and values
  shared_gate,   ///< of experts that every token uses
  shared_up,
  shared_down,
  shared_router,      ///< the row that weighs them
  sinks,              ///< a score a head that no value answers to
  router_norm,        ///< of what the router reads
  router_scale,       ///< a factor an expert
  index_query,        ///< of the heads that choose tokens, from the latent of queries
  index_key,          ///< one for all of these heads
  index_norm,         ///< of that key
  index_share,        ///< what each of these heads counts
  latent_in,          ///< hidden states to what experts read
  latent_out,         ///< and back
  output_gate,        ///< of linear attention
  gate_latent,        ///< hidden states to what that gate is made of
  rates,              ///< of linear attention: how much a token is forgotten and learned
  channel_rates,      ///< the same for each channel of keys
  rates_latent,       ///< hidden states to what these are made of
  convolution,        ///< a kernel for each channel
  decay,              ///< of linear attention, an element a head
  mixer_norm,         ///< of what linear attention computes
  adapter_down,       ///< A of LoRA: inputs to its rank
  adapter_up,         ///< and B: back to outputs
  adapter_magnitude,  ///< of DoRA: a number an output
  bias,
  query_norm,  ///< of heads, or of a latent
  key_norm,
  norm,
};
const char* to_string(WeightKind kind);

/// How Megatron-style tensor parallelism cuts a weight: whole on each rank, by output or by input.
enum class Cut { none, columns, rows };

struct WeightTensor {
  std::string name;  ///< as Hugging Face names it, "model.layers.0.mlp.up_proj.weight"
  WeightKind kind = WeightKind::other_matrix;
  std::vector<std::uint64_t> shape;  ///< of the whole tensor; {} never
  Params parameters;                 ///< product of `shape`
  std::uint32_t layer = 0;           ///< index into Model::layers
  Cut cut = Cut::none;
  bool inputs_first = false;  ///< a matrix of shape {inputs, outputs}; else {outputs, inputs}
  bool frozen = false;        ///< it is not trained
  bool routed = false;        ///< of experts that tokens choose
  std::uint32_t expert = 0;   ///< of a routed one: which; 0 where one tensor has them all
  /// Index of the first matrix of its adapter, behind which the second stands, and of DoRA the
  /// magnitudes; none: it has none.
  std::optional<std::uint32_t> adapter{};
  bool is_adapter() const {
    return kind == WeightKind::adapter_down || kind == WeightKind::adapter_up ||
           kind == WeightKind::adapter_magnitude;
  }
  /// One tensor of all experts of a layer, each a matrix: no module, as `nn.Linear` is.
  bool is_stacked() const { return routed && shape.size() > 2; }
  /// A matrix of a block's attention.
  bool multiplies_in_attention() const;
  /// A matrix by which a block multiplies what comes to it: what is quantised, and may have an
  /// adapter.
  bool multiplies_in_block() const;
  /// Of a matrix, or of each of several in one tensor.
  std::uint64_t inputs() const;
  std::uint64_t outputs() const;
  bool decays() const { return shape.size() > 1; }  ///< DeepSpeed/HF: norms and biases do not
};

/// A layer is what streaming systems fetch as one: the embedding, each block, the head.
struct Layer {
  std::string name;                    ///< "embedding", "layers.0", "encoder.0", "head"
  std::vector<std::uint32_t> weights;  ///< indices into Model::weights, in model order
  bool is_block = false;               ///< a transformer block (recomputed, checkpointed)
  /// Weights of other layers that it uses as well: a tied head's, those of T5's tables.
  std::vector<std::uint32_t> borrowed{};
};

/// The weights of one LLM: every parameter tensor once (a tied head is the embedding), in model
/// order.
struct Model {
  Architecture architecture;
  std::vector<WeightTensor> weights;
  std::vector<Layer> layers;  ///< embedding, blocks (encoder first), head
  Params parameters;          ///< sum over weights
  /// Without the experts that a token does not choose; all of them where there are none.
  Params active_parameters;

  const std::string& name() const { return architecture.name; }
  bool has_adapters() const;
  /// The lowest layer with a weight that is trained: those below have no backward.
  std::uint32_t first_trained_layer() const;
  Params trained_parameters() const;
  /// The weights that `layer` multiplies or looks up, a tied embedding included for the head.
  std::vector<std::uint32_t> used_by(std::uint32_t layer) const;
  /// The matrix that a weight of an adapter is for.
  ///   Throws  InternalError of other weights
  std::uint32_t adapted(std::uint32_t weight) const;
  /// Parameters of the largest weight tensor (the vocabulary's, in LLMs).
  Params largest_tensor() const;
  /// All experts of a layer are one tensor, which is no module of its own.
  bool stacks_experts() const;
};

Model build_model(const Architecture& architecture);

}  // namespace spillway::models
