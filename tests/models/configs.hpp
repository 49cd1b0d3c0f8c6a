#pragma once

#include "models/architecture/model.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace spillway::models {

inline Model from_config(const char* json, ExpertLayout experts = ExpertLayout::stacked) {
  Architecture a = read_architecture(nlohmann::json::parse(json), "test", "test.json");
  a.expert_layout = experts;
  return build_model(a);
}

/// A model of models/library/.
inline Model from_library(const std::string& name) {
  const std::string path = std::string(SPILLWAY_SOURCE_DIR) + "/models/library/" + name + ".json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  return build_model(read_architecture(nlohmann::json::parse(file), name, path));
}

// h 64, 2 layers, 4 heads of 16, 4h wide, 16 positions, 100 words.
inline constexpr const char* tiny_gpt2 = R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2,
    "n_head": 4, "n_positions": 16, "vocab_size": 100})";
// h 64, 2 layers, 4 heads of 16, 2 KV heads, f 96, 100 words, head of its own.
inline constexpr const char* tiny_llama = R"({"model_type": "llama", "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 96, "vocab_size": 100})";
// h 64, 2 layers, 4 heads of 16, 4h wide.
inline constexpr const char* tiny_bert = R"({"model_type": "bert", "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256,
    "vocab_size": 100, "max_position_embeddings": 16})";
// h 64, heads as wide as h, 2 encoder and 2 decoder layers, f 4h.
inline constexpr const char* tiny_t5 = R"({"model_type": "t5", "d_model": 64, "d_kv": 16,
    "num_heads": 4, "d_ff": 256, "num_layers": 2, "vocab_size": 100})";
// 4 experts of f 96, 2 a token.
inline constexpr const char* tiny_mixtral = R"({"model_type": "mixtral", "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 96, "vocab_size": 100, "num_local_experts": 4,
    "num_experts_per_tok": 2})";
// The one OPT whose norms stand behind and whose embedding is narrower than the model.
inline constexpr const char* narrow_opt = R"({"model_type": "opt", "hidden_size": 64,
    "word_embed_proj_dim": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 256,
    "vocab_size": 100, "max_position_embeddings": 16, "do_layer_norm_before": false})";

}  // namespace spillway::models
