#include "models/architecture/type_readers.hpp"

#include <algorithm>
#include <string_view>

namespace spillway::models {

namespace {

struct Row {
  const char* name;
  const char* block;
  /// Types with readers that know it, a space behind each.
  std::string_view known_by = "";

  bool is_known_by(const std::string& type) const {
    return !type.empty() && known_by.find(type + " ") != std::string_view::npos;
  }
};

constexpr const char* state_space = "a state-space block";
constexpr const char* linear = "a block of linear attention";
constexpr const char* recurrent = "a recurrent block";
constexpr const char* indexed = "attention to tokens that an indexer chooses";
constexpr std::string_view with_delta_rule = "qwen3_next qwen3_5_text qwen3_5_moe_text ";
constexpr std::string_view with_state_spaces = "granitemoehybrid bamba falcon_h1 ";
constexpr std::string_view with_convolutions = "lfm2 lfm2_moe ";
constexpr const char* compressed = "attention to compressed tokens";
constexpr const char* unequal = "blocks whose heads or widths differ from each other";
constexpr const char* no_language = "a model that is no language model";

constexpr Row types[] = {
    {"mamba", state_space},
    {"mamba2", state_space},
    {"falcon_mamba", state_space},
    {"jamba", state_space},
    {"zamba", state_space},
    {"zamba2", state_space},
    {"plamo2", state_space},
    {"minimax", linear},
    {"minimax_text_01", linear},
    {"rwkv", recurrent},
    {"rwkv5", recurrent},
    {"rwkv6", recurrent},
    {"rwkv7", recurrent},
    {"recurrent_gemma", recurrent},
    {"xlstm", recurrent},
    {"deepseek_v4", compressed},
    {"gemma3n", "a block with alternating updates (AltUp) and embeddings of its own"},
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
    {"linear_num_value_heads", linear, with_delta_rule},
    {"linear_conv_kernel_dim", linear, "qwen3_next qwen3_5_text qwen3_5_moe_text kimi_linear "},
    {"linear_attn_config", linear, "kimi_linear "},
    {"mamba_d_state", state_space, with_state_spaces},
    {"mamba_num_heads", state_space, "nemotron_h "},
    {"ssm_state_size", state_space, "nemotron_h "},
    {"ssm_cfg", state_space},
    {"hybrid_override_pattern", state_space, "nemotron_h "},
    {"compress_ratios", compressed},
    {"index_topk", indexed, "deepseek_v32 glm_moe_dsa "},
    {"conv_L_cache", "a block of short convolutions", with_convolutions},
    {"global_head_dim", unequal, "gemma4_text "},
    {"swa_num_key_value_heads", unequal, "mimo_v2_flash "},
    {"block_configs", unequal, "nemotron-nas "},
};

constexpr Row layer_kinds[] = {
    {"linear_attention", linear,
     "qwen3_next qwen3_5_text qwen3_5_moe_text kimi_linear granitemoehybrid bamba "},
    {"mamba", state_space, with_state_spaces},
    {"recurrent", recurrent},
    {"conv", "a block of short convolutions", with_convolutions},
};

}  // namespace

std::optional<RefusedType> refused(const ConfigKeys& keys, const std::string& type) {
  const nlohmann::json& json = keys.json();
  if (const auto list = json.find("layer_types"); list != json.end() && list->is_array())
    for (const nlohmann::json& kind : *list)
      for (const Row& row : layer_kinds)
        if (kind == row.name && !row.is_known_by(type))
          return RefusedType{std::string(row.block) + " (\"" + row.name + "\")", "layer_types"};
  for (const Row& row : keys_of_blocks)
    if (keys.has(row.name) && !row.is_known_by(type)) return RefusedType{row.block, row.name};
  for (const Row& row : types)
    if (type == row.name)
      return RefusedType{std::string(row.block) + " (\"" + type + "\")", "model_type"};
  return std::nullopt;
}

}  // namespace spillway::models
