#include "models/type_readers.hpp"

#include <algorithm>

namespace spillway::models {

namespace {

struct Row {
  const char* name;
  const char* block;
};

constexpr const char* state_space = "a state-space block";
constexpr const char* linear = "a block of linear attention";
constexpr const char* recurrent = "a recurrent block";
constexpr const char* indexed = "attention to tokens that an indexer chooses";
constexpr const char* unequal = "blocks whose heads or widths differ from each other";
constexpr const char* no_language = "a model that is no language model";

constexpr Row types[] = {
    {"mamba", state_space},
    {"mamba2", state_space},
    {"falcon_mamba", state_space},
    {"jamba", state_space},
    {"bamba", state_space},
    {"zamba", state_space},
    {"zamba2", state_space},
    {"nemotron_h", state_space},
    {"falcon_h1", state_space},
    {"granitemoehybrid", state_space},
    {"plamo2", state_space},
    {"qwen3_next", linear},
    {"qwen3_5", linear},
    {"qwen3_5_text", linear},
    {"qwen3_5_moe", linear},
    {"qwen3_5_moe_text", linear},
    {"minimax", linear},
    {"minimax_text_01", linear},
    {"kimi_linear", linear},
    {"rwkv", recurrent},
    {"rwkv5", recurrent},
    {"rwkv6", recurrent},
    {"rwkv7", recurrent},
    {"recurrent_gemma", recurrent},
    {"xlstm", recurrent},
    {"lfm2", "a block of short convolutions"},
    {"deepseek_v32", indexed},
    {"glm_moe_dsa", indexed},
    {"gemma3n", "a block with alternating updates (AltUp) and embeddings of its own"},
    {"gemma4", unequal},
    {"gemma4_text", unequal},
    {"deci", unequal},
    {"nemotron-nas", unequal},
    {"vit", no_language},
    {"clip", no_language},
    {"clip_text_model", no_language},
    {"clip_vision_model", no_language},
    {"siglip", no_language},
    {"whisper", no_language},
    {"wav2vec2", no_language},
};

/// Keys that only such blocks have.
constexpr Row keys_of_blocks[] = {
    {"linear_num_value_heads", linear},
    {"linear_conv_kernel_dim", linear},
    {"linear_attn_config", linear},
    {"mamba_d_state", state_space},
    {"mamba_num_heads", state_space},
    {"ssm_state_size", state_space},
    {"ssm_cfg", state_space},
    {"hybrid_override_pattern", state_space},
    {"index_topk", indexed},
    {"conv_L_cache", "a block of short convolutions"},
    {"global_head_dim", unequal},
    {"swa_num_key_value_heads", unequal},
    {"block_configs", unequal},
};

constexpr Row layer_kinds[] = {
    {"linear_attention", linear},
    {"mamba", state_space},
    {"recurrent", recurrent},
    {"conv", "a block of short convolutions"},
};

}  // namespace

std::optional<RefusedType> refused(const ConfigKeys& keys, const std::string& type) {
  const nlohmann::json& json = keys.json();
  if (const auto list = json.find("layer_types"); list != json.end() && list->is_array())
    for (const nlohmann::json& kind : *list)
      for (const Row& row : layer_kinds)
        if (kind == row.name)
          return RefusedType{std::string(row.block) + " (\"" + row.name + "\")", "layer_types"};
  for (const Row& row : keys_of_blocks)
    if (keys.has(row.name)) return RefusedType{row.block, row.name};
  for (const Row& row : types)
    if (type == row.name)
      return RefusedType{std::string(row.block) + " (\"" + type + "\")", "model_type"};
  return std::nullopt;
}

}  // namespace spillway::models
