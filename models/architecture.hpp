#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace spillway::models {

enum class Stack { decoder, encoder, encoder_decoder };

/// Between the matrices of a feed-forward: x sigmoid(x); x Phi(x), by the error function or by
/// tanh; max(x, 0).
enum class Activation { silu, gelu, gelu_tanh, relu };

/// What a Hugging Face `config.json` says about a transformer, in one vocabulary for all types.
/// Plain counts; `model_type` is kept because a few rules (QKV bias of qwen2, the two extra
/// positions of OPT, the pooler of BERT) follow from the type and from no key.
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
  std::uint64_t ffn = 0;
  bool gated_ffn = false;     ///< gate and up projections (SwiGLU, GEGLU)
  std::uint64_t experts = 0;  ///< 0: dense
  std::uint64_t experts_per_token = 0;
  std::uint64_t vocabulary = 0;
  std::uint64_t embedding_width = 0;  ///< OPT's word_embed_proj_dim; otherwise hidden
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool ffn_bias = false;
  bool layer_norm = false;  ///< LayerNorm with bias; else RMSNorm
  bool final_norm = true;
  std::uint64_t learned_positions = 0;          ///< rows of a learned position table, 0: none
  std::uint64_t max_positions = 0;              ///< longest sequence, 0: no limit
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

  std::uint64_t query_width() const { return heads * head_dim; }
  std::uint64_t kv_width() const { return kv_heads * head_dim; }
};

/// The model types that can be read, for messages.
const std::vector<std::string>& known_model_types();

/// Reads the keys of a Hugging Face config.json; unknown keys are ignored, as such files carry
/// many.
///   Throws  ScenarioError listing every missing, mistyped or contradictory key with `file` and the
///   JSON
///           path (line 0; the caller who has the text adds lines), or an unknown model_type with
///           the known ones
Architecture read_architecture(const nlohmann::json& config, const std::string& name,
                               const std::string& file);

}  // namespace spillway::models
