#pragma once

#include "scenarios/description/training.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace spillway::description {
struct Scenario;
}

namespace spillway::models {

using description::ExpertLayout;

enum class Stack { decoder, encoder, encoder_decoder };

/// Between the matrices of a feed-forward: x sigmoid(x); x Phi(x), by the error function or by
/// tanh; max(x, 0); its square.
enum class Activation { silu, gelu, gelu_tanh, relu, relu_squared };

/// Where a block norms, f being one of its halves, attention or feed-forward.
enum class BlockForm {
  pre_norm,       ///< x + f(norm(x))
  post_norm,      ///< norm(x + f(x)): BERT, the smallest OPT
  output_norm,    ///< x + norm(f(x)): OLMo 2
  sandwich,       ///< x + norm(f(norm(x))): Gemma 2
  parallel,       ///< x + attention(norm(x)) + ffn(norm(x)), one norm for both: GPT-J
  parallel_norms  ///< the same with a norm for each: GPT-NeoX
};

/// Norms of queries and keys behind their projection.
enum class HeadNorm {
  none,
  per_head,   ///< each head by itself, one row of weights for all: Qwen 3
  each_head,  ///< each head by itself and with weights of its own: Cohere
  whole,      ///< over all heads at once: OLMo 2
};

/// Queries, keys and values by way of narrow latents (DeepSeek V2); a key is the same for all
/// heads in its rotated part.
struct LatentAttention {
  std::uint64_t query_rank = 0;  ///< 0: queries come straight from the hidden states
  std::uint64_t kv_rank = 0;     ///< 0: ordinary attention
  std::uint64_t unrotated = 0;   ///< elements of a query or key head without positions
  std::uint64_t rotated = 0;     ///< elements with rotary positions
};

/// A learned choice of the tokens that a query attends to: every earlier token is scored by a few
/// narrow heads (DeepSeek-V3.2).
struct TokenIndex {
  std::uint64_t heads = 0;
  std::uint64_t head_dim = 0;
  std::uint64_t chosen = 0;  ///< tokens a query; 0: it attends to all
};

/// Linear attention by the gated delta rule, behind a short convolution of queries, keys and values
/// (Qwen3-Next).
struct DeltaRule {
  std::uint64_t key_heads = 0, value_heads = 0;
  std::uint64_t key_dim = 0, value_dim = 0;  ///< elements of a head
  std::uint64_t kernel = 0;                  ///< tokens that the convolution sees
  /// Width by way of which decays, one a channel of keys, and the gate of the output come (Kimi
  /// Linear); 0: a decay a head, and both straight from the hidden states.
  std::uint64_t rank = 0;

  std::uint64_t key_width() const { return key_heads * key_dim; }
  std::uint64_t value_width() const { return value_heads * value_dim; }
};

/// A selective state space, whose inputs and outputs groups of heads share (Mamba 2).
struct StateSpace {
  std::uint64_t heads = 0, head_dim = 0;
  std::uint64_t groups = 0, state = 0;  ///< elements of a state a head element
  std::uint64_t kernel = 0;             ///< tokens that the convolution sees
  std::uint64_t chunk = 0;              ///< tokens that are taken at once
  bool convolution_bias = false;
  bool bias = false;         ///< of the projection before it
  bool output_bias = false;  ///< of the one behind it
  bool norm = true;  ///< its output is normed by its gate; else the gate alone multiplies it

  std::uint64_t width() const { return heads * head_dim; }
  std::uint64_t mixed_width() const { return width() + 2 * groups * state; }
};

/// A convolution over the latest tokens of each channel, between two gates (LFM2).
struct ShortConvolution {
  std::uint64_t kernel = 0;  ///< tokens that it sees
  bool bias = false;         ///< of it and of both projections
};

/// What each of a token's experts counts.
///   softmax_of_chosen  softmax of the logits of the chosen experts: what is left, too, where that
///                      of all experts is divided by the sum of the chosen
///   softmax_of_all     the chosen of the softmax of all, whose sum is less than 1
///   sigmoid_of_chosen  sigmoids of the logits of the chosen, divided by their sum
///   other              none of these
/// Groups and corrections decide which are chosen, not what they count.
enum class RouterRule { softmax_of_chosen, softmax_of_all, sigmoid_of_chosen, other };

/// Whether the way back needs the logits beside the shares.
constexpr bool keeps_logits(RouterRule rule) {
  return rule == RouterRule::softmax_of_all || rule == RouterRule::sigmoid_of_chosen;
}

/// What mixes the tokens of a block.
enum class Mixer {
  attention,
  delta_rule,
  state_space,
  attention_and_state_space,  ///< both of the same input, added (Falcon-H1)
  short_convolution,
  none
};
constexpr bool attends(Mixer mixer) {
  return mixer == Mixer::attention || mixer == Mixer::attention_and_state_space;
}
constexpr bool has_state_space(Mixer mixer) {
  return mixer == Mixer::state_space || mixer == Mixer::attention_and_state_space;
}

/// Sizes of a block that differ from the architecture's; 0: they do not.
struct BlockShape {
  std::uint64_t heads = 0, kv_heads = 0, head_dim = 0, value_dim = 0, rotated_dims = 0, ffn = 0;
};

/// What may differ from decoder block to decoder block.
struct BlockTraits {
  std::uint64_t window = 0;  ///< latest tokens that a query sees; 0: all before it
  bool chunked = false;      ///< the window is a chunk of the sequence and does not slide
  bool rotary = true;
  bool experts = false;
  Mixer mixer = Mixer::attention;
  bool feeds = true;             ///< there is a feed-forward behind the mixer
  bool sinks = true;             ///< where Architecture::attention_sinks has them
  bool own_index = true;         ///< else its tokens are those of the last block that chose
  bool keys_are_values = false;  ///< one projection for both (Gemma 4)
  BlockShape shape;
};

/// What a Hugging Face `config.json` says about a transformer, in one vocabulary for all types.
/// Plain counts; `model_type` is kept because the names of weights follow from it.
struct Architecture {
  std::string name;
  std::string model_type;
  Stack stack = Stack::decoder;
  std::uint64_t hidden = 0;
  std::uint64_t layers = 0;          ///< decoder layers, or encoder layers of an encoder
  std::uint64_t encoder_layers = 0;  ///< encoder_decoder only
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_dim = 0;
  std::uint64_t value_dim = 0;  ///< of a value head where it differs from head_dim; 0: the same
  LatentAttention latent;
  TokenIndex index;
  DeltaRule delta;         ///< of the blocks whose mixer it is
  StateSpace state_space;  ///< likewise
  ShortConvolution short_convolution;
  std::uint64_t ffn = 0;      ///< of blocks without experts
  bool gated_ffn = false;     ///< gate and up projections (SwiGLU, GEGLU)
  std::uint64_t experts = 0;  ///< 0: dense
  std::uint64_t experts_per_token = 0;
  std::uint64_t expert_ffn = 0;     ///< width of one expert
  std::uint64_t shared_ffn = 0;     ///< width of the experts that every token uses, together
  bool shared_gate = false;         ///< their output is weighed by a row of its own (Qwen 2)
  std::uint64_t expert_latent = 0;  ///< width that experts read and write; 0: the hidden one
  ExpertLayout expert_layout = ExpertLayout::stacked;  ///< no key says so: training.experts does
  RouterRule router_rule = RouterRule::other;
  bool router_bias = false;
  bool expert_bias = false;
  bool router_scales = false;         ///< norm of the router's input, and a factor an expert
  bool dense_beside_experts = false;  ///< a feed-forward and experts, whose sum the block adds
  std::uint64_t vocabulary = 0;
  std::uint64_t embedding_width = 0;  ///< OPT's word_embed_proj_dim; otherwise hidden
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool ffn_bias = false;
  bool head_bias = false;   ///< of the product with the vocabulary
  bool layer_norm = false;  ///< LayerNorm; else RMSNorm
  bool norm_bias = false;
  bool norm_weights = true;
  bool wide_norms = false;  ///< an RMSNorm multiplies by its weight before it leaves fp32
  bool final_norm = true;
  BlockForm form = BlockForm::pre_norm;
  HeadNorm head_norm = HeadNorm::none;
  bool value_norm = false;      ///< each value head is normed, without weights
  bool attention_gate = false;  ///< a sigmoid, an element each, of what attention computes
  /// Probabilities of dropout that its file says: of hidden states and of attention weights.
  double own_dropout = 0, own_attention_dropout = 0;
  bool hidden_dropout = false;          ///< drops hidden states; else attention weights alone
  bool alibi = false;                   ///< positions are slopes added to the scores
  std::uint64_t rotated_dims = 0;       ///< elements of a head that rotate; 0: all
  bool attention_sinks = false;         ///< a learned score per head that no value answers to
  bool attention_softcap = false;       ///< scores go through c tanh(x / c)
  bool logit_softcap = false;           ///< logits likewise
  bool clamped_gate = false;            ///< gpt_oss clamps gate and up, and adds 1 to the latter
  std::vector<BlockTraits> blocks;      ///< one a decoder block; empty: they are alike
  BlockTraits here{};                   ///< of the block that this is the architecture of
  std::uint64_t learned_positions = 0;  ///< rows of a learned position table, 0: none
  std::uint64_t max_positions = 0;      ///< longest sequence, 0: no limit
  std::uint64_t relative_position_buckets = 0;  ///< T5: a table of buckets x heads once a stack
  std::uint64_t token_types = 0;                ///< BERT's segment embedding
  bool embedding_norm = false;                  ///< BERT: LayerNorm behind the embeddings
  bool pooler = false;                          ///< BERT's dense layer on the first token
  std::uint64_t position_offset = 0;  ///< position p has row p + this of the learned table
  Activation activation = Activation::silu;
  double norm_epsilon = 1e-5;
  double rope_theta = 10000;  ///< base of rotary positions; scaling of long contexts is left out

  /// A diffusion transformer: rows of its table of labels; 0: a language model.
  std::uint64_t labels = 0;
  std::uint64_t patch_inputs = 0;   ///< numbers of a patch of latents: a token of a diffusion model
  std::uint64_t patch_outputs = 0;  ///< that it predicts of it: noise and its variance
  bool is_diffusion() const { return labels > 0; }

  /// What was left out or decided without being asked, a sentence each, for whoever sees the model.
  std::vector<std::string> notes;

  std::uint64_t query_width() const { return heads * head_dim; }
  std::uint64_t kv_width() const { return kv_heads * head_dim; }
  std::uint64_t value_width() const { return kv_heads * (value_dim == 0 ? head_dim : value_dim); }
  /// Of what attention computes.
  std::uint64_t attention_width() const { return heads * (value_dim == 0 ? head_dim : value_dim); }
  bool has_latents() const { return latent.kv_rank > 0; }
  bool is_parallel() const {
    return form == BlockForm::parallel || form == BlockForm::parallel_norms;
  }
  BlockTraits block(std::uint64_t number) const;
  /// The architecture as a block of these traits has it; without `blocks`.
  Architecture of_block(const BlockTraits& traits) const;
  /// What tensor ranks must be able to share evenly, a word for each: heads, columns. Where blocks
  /// differ it is their greatest common divisor.
  std::vector<std::pair<const char*, std::uint64_t>> shared_by_ranks() const;
};

/// The model types that can be read, for messages.
const std::vector<std::string>& known_model_types();

/// Reads the keys of a Hugging Face config.json; unknown keys are ignored, as such files carry
/// many. A missing `model_type` follows from `architectures` or from the keys; of a multimodal file
/// the language model is read; both are said in Architecture::notes.
///   Throws  ScenarioError listing every missing, mistyped or contradictory key with `file` and the
///           JSON path (line 0; the caller who has the text adds lines), or an unknown model_type
///           with the known ones
Architecture read_architecture(const nlohmann::json& config, const std::string& name,
                               const std::string& file);
/// What a scenario trains, its experts as `training.experts` lays them.
Architecture architecture_of(const description::Scenario& scenario);
/// Why the type's experts cannot lie so; empty: they can, or there are none.
std::string refusal(const Architecture& architecture, ExpertLayout layout);

}  // namespace spillway::models
