#pragma once

#include "models/program/tape.hpp"

namespace spillway::models {

/// Hidden states of a step, as they leave the embedding: T5 embeds its decoder's tokens as well.
struct Embedded {
  Value first;
  std::optional<Value> decoder;
};

/// What a diffusion model's blocks read beside the hidden states, made of time step and label.
struct Conditioned {
  Value hidden, condition;
};

// Each appends one layer of the model, `layer` its index.

Embedded embedding(Tape& tape, std::uint32_t layer);
struct BlockCall {
  bool causal = false;           ///< the self-attention sees no later token
  std::optional<Value> encoder;  ///< T5's encoder output, for the cross-attention of a decoder
  BlockTraits traits;
  /// Tokens that the last block chose that has an index of its own; a block that has one sets it.
  std::optional<TensorId> chosen;
};
/// A transformer block.
Value block(Tape& tape, std::uint32_t layer, Value hidden, BlockCall& call);
/// T5's norm between encoder and decoder; the result is what all cross-attentions read.
Value encoder_norm(Tape& tape, std::uint32_t layer, Value hidden);
/// Patches of latents, and what all blocks are conditioned on.
Conditioned diffusion_embedding(Tape& tape, std::uint32_t layer);
/// adaLN-Zero: shift, scale and gate of both halves from the condition; norms have no weights.
Value diffusion_block(Tape& tape, std::uint32_t layer, Value hidden, Value condition);
/// Noise predicted of each patch, and the squared distance to the true one.
void diffusion_head(Tape& tape, std::uint32_t layer, Value hidden, Value condition);
/// Final norm, BERT's transform, vocabulary product and loss.
void head(Tape& tape, std::uint32_t layer, Value hidden);

}  // namespace spillway::models
