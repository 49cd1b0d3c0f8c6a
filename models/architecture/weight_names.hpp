#pragma once

#include "models/architecture/model.hpp"

#include <string>
#include <vector>

namespace spillway::models {

/// Where a block's norms stand in the list of its weights, which is the order Hugging Face has.
enum class NormPlace {
  last,       ///< llama: both behind the matrices
  first,      ///< gpt2: each before the half it feeds
  behind,     ///< opt, bert: each behind its half's attention or matrices
  beginning,  ///< gpt_neox: all before the matrices
};

struct NamedProjection {
  std::string name;
  WeightKind kind;
};

/// Names of experts; readers give those of transformers 4, and `names_of` those of the layout.
struct ExpertNames {
  std::string prefix = "mlp.";
  std::string router = "gate";
  std::string inside = "experts.";  ///< before the expert's number
  std::string gate = "gate_proj", up = "up_proj", down = "down_proj";
  bool stacked = false;       ///< a tensor has all experts; without `gate` gate and up are one
  bool inputs_first = false;  ///< stacked as [experts, inputs, outputs]; else outputs first
  std::string shared = "shared_experts.";
  bool shared_outside = false;  ///< it stands behind the block's prefix, not behind that of experts
  std::string shared_gate_matrix = "gate_proj";  ///< empty: gate and up are one, `shared_up`
  std::string shared_up = "up_proj", shared_down = "down_proj";
  std::string shared_gate = "shared_expert_gate";
  std::string latent_in = "fc1_latent_proj", latent_out = "fc2_latent_proj";
  std::string router_norm = "router.scale";              ///< where Architecture::router_scales
  std::string router_scale = "router.per_expert_scale";  ///< has them
};

/// Hugging Face's names of one model type's weights; a matrix's name stands without ".weight".
struct WeightNames {
  std::string tokens;
  std::string positions;
  std::string token_types;
  std::string embedding_norm;
  std::string project_in;
  std::string project_out;
  std::string block_prefix;
  std::string attention_prefix;
  std::vector<NamedProjection> qkv;  ///< one entry: query, key and value in one matrix
  std::string query_norm = "q_norm";
  std::string key_norm = "k_norm";
  std::string attention_output;
  std::string delta_prefix = "linear_attn.";
  bool delta_in_parts = false;  ///< its projections are four matrices instead of two
  std::string state_space_prefix = "mamba.";
  std::string convolution_prefix = "conv.";
  std::string feed_forward_prefix;
  std::string gate;  ///< empty: gate and up are one matrix, `gated_up`
  std::string gated_up;
  std::string up;
  std::string down;
  ExpertNames experts;
  std::string norm_1;
  std::string norm_1_after;  ///< of sandwich blocks: behind attention
  std::string norm_2;
  std::string norm_2_after;
  std::string dense_after;     ///< where a feed-forward stands beside experts: behind it,
  std::string experts_before;  ///< and on both sides of the experts
  std::string experts_after;
  NormPlace norm_place = NormPlace::last;
  std::string final_norm;
  std::string pooler;
  std::string sinks = "sinks";
  std::string head = "lm_head";
  bool inputs_first = false;  ///< block matrices are stored [inputs, outputs] (gpt2's Conv1D)
};

/// As the type's class of Hugging Face has them, experts as `expert_layout` says.
WeightNames names_of(const Architecture& architecture);

}  // namespace spillway::models
