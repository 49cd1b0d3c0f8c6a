#include "models/architecture/type_readers.hpp"

namespace spillway::models {

namespace {

/// Routed and shared experts behind the first dense blocks, as DeepSeek has them.
void read_routed_experts(ConfigKeys& keys, Architecture& a, std::uint64_t experts,
                         std::uint64_t per_token, std::uint64_t width, std::uint64_t dense) {
  a.experts = keys.count_or_zero("n_routed_experts", experts);
  a.experts_per_token = a.experts == 0 ? 0 : keys.count("num_experts_per_tok", per_token);
  a.expert_ffn = keys.count("moe_intermediate_size", width);
  a.shared_ffn = keys.count_or_zero("n_shared_experts", 1) * a.expert_ffn;
  check_experts(keys, a, "num_experts_per_tok", "n_routed_experts");
  place_experts(keys, a, keys.count_or_zero("first_k_dense_replace", dense),
                keys.count("moe_layer_freq", 1));
}

/// Sigmoids, divided by the sum of the chosen where `norm_topk_prob` says so.
RouterRule read_sigmoids(ConfigKeys& keys, bool otherwise) {
  return keys.flag("norm_topk_prob", otherwise) ? RouterRule::sigmoid_of_chosen : RouterRule::other;
}

/// The ranks of queries and of keys and values, and the parts of a head.
void read_latents(ConfigKeys& keys, Architecture& a, const LatentAttention& otherwise,
                  std::uint64_t value) {
  a.latent.query_rank = keys.json().contains("q_lora_rank") ? keys.count_or_zero("q_lora_rank", 0)
                                                            : otherwise.query_rank;
  a.latent.kv_rank = keys.count("kv_lora_rank", otherwise.kv_rank);
  a.latent.unrotated = keys.count("qk_nope_head_dim", otherwise.unrotated);
  a.latent.rotated = keys.count("qk_rope_head_dim", otherwise.rotated);
  a.head_dim = a.latent.unrotated + a.latent.rotated;
  a.rotated_dims = a.latent.rotated;
  a.value_dim = keys.count("v_head_dim", value);
  a.kv_heads = a.heads;  // each head has keys of its own, made of the latent
}

void read_deepseek_v2(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {32000, 4096, 11008, 32, 32, 32, 2048});
  read_latents(keys, a, {1536, 512, 128, 64}, 128);
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  read_routed_experts(keys, a, 64, 6, 1407, 0);
  a.router_rule = read_router_rule(keys);
}

void read_deepseek_v3(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {129280, 7168, 18432, 61, 128, 128, 4096});
  read_latents(keys, a, {1536, 512, 128, 64}, 128);
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  read_routed_experts(keys, a, 256, 8, 2048, 3);
  a.router_rule = read_sigmoids(keys, true);
  note_prediction_heads(keys, a, "num_nextn_predict_layers");
}

/// Blocks whose indexer is "shared" attend to the tokens that the last "full" one has chosen; a
/// pattern of letters says the same, or every how many blocks one chooses.
void place_indexers(ConfigKeys& keys, Architecture& a) {
  if (!make_blocks(keys, a)) return;
  const std::vector<std::string> types = keys.words("indexer_types");
  const std::string pattern = keys.text("index_topk_pattern", "");
  const std::uint64_t step = keys.count("index_topk_freq", 1);
  const std::uint64_t offset = keys.count_or_zero("index_skip_topk_offset", 2);
  const auto chooses = [&](std::size_t i) {
    if (!types.empty()) return types[i] == "full";
    if (!pattern.empty()) return pattern[i] == 'F';
    return (i + 1 < offset ? 0 : i + 1 - offset) % step == 0;
  };
  for (const std::size_t size : {types.size(), pattern.size()})
    if (size > 0 && size != a.blocks.size())
      return keys.complain(types.empty() ? "index_topk_pattern" : "indexer_types",
                           "has " + std::to_string(size) + " entries for " +
                               std::to_string(a.blocks.size()) + " layers");
  for (std::size_t i = 0; i < a.blocks.size(); ++i) a.blocks[i].own_index = chooses(i);
  if (!a.blocks.empty() && !a.blocks.front().own_index)
    keys.complain("indexer_types", "the first block has nobody's tokens to share");
}

void read_indexed(ConfigKeys& keys, Architecture& a, std::uint64_t heads) {
  a.index.heads = keys.count("index_n_heads", heads);
  a.index.head_dim = keys.count("index_head_dim", 128);
  a.index.chosen = keys.count("index_topk", 2048);
  if (a.latent.query_rank == 0)
    keys.complain("q_lora_rank", "the indexer reads the latent of queries, which is missing");
  place_indexers(keys, a);
  a.notes.emplace_back(
      "The indexer is trained by a loss of its own, as DeepSeek does; Hugging Face's model runs it "
      "without gradients. FLOPs of attention to chosen tokens are those of a kernel that gathers "
      "latents.");
}

void read_deepseek_v32(ConfigKeys& keys, Architecture& a) {
  read_deepseek_v3(keys, a);
  read_indexed(keys, a, 64);
}

void read_glm_dsa(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {154880, 6144, 12288, 78, 64, 64, 202752, 1e-5});
  read_latents(keys, a, {2048, 512, 192, 64}, 256);
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  read_routed_experts(keys, a, 256, 8, 2048, 3);
  a.router_rule = read_sigmoids(keys, true);
  note_prediction_heads(keys, a, "num_nextn_predict_layers");
  read_indexed(keys, a, 32);
}

void read_minicpm3(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {73448, 2560, 6400, 62, 40, 40, 32768, 1e-5});
  read_latents(keys, a, {768, 256, 64, 32}, 0);
  if (a.value_dim == 0) a.value_dim = a.heads == 0 ? 0 : a.hidden / a.heads;
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
}

/// DeepSeek's first experts, with ordinary attention.
void read_deepseek(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {102400, 4096, 11008, 30, 32, 32, 2048});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  read_routed_experts(keys, a, 0, 1, 1407, 0);
  a.router_rule = read_router_rule(keys);
}

void read_glm4_moe(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {151552, 4096, 10944, 46, 96, 8, 131072, 1e-5});
  a.head_dim = keys.count("head_dim", 0);
  a.qkv_bias = keys.flag("attention_bias", false);
  if (keys.flag("use_qk_norm", false)) a.head_norm = HeadNorm::per_head;
  read_partial_rotary(keys, a, 0.5);
  read_routed_experts(keys, a, 128, 8, 1408, 1);
  a.router_rule = read_sigmoids(keys, true);
  note_prediction_heads(keys, a, "num_nextn_predict_layers");
}

void read_dots1(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {152064, 4608, 10944, 62, 32, 32, 2048});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.head_norm = HeadNorm::per_head;
  read_routed_experts(keys, a, 0, 1, 1408, 0);
  a.router_rule = read_sigmoids(keys, false);
}

constexpr TypeReader latent_types[] = {
    {"dots1", read_dots1, llama_names},
    {"deepseek", read_deepseek, llama_names},
    {"deepseek_v2", read_deepseek_v2, llama_names},
    {"deepseek_v3", read_deepseek_v3, llama_names},
    {"deepseek_v32", read_deepseek_v32, llama_names},
    {"glm_moe_dsa", read_glm_dsa, llama_names},
    {"kimi_k2", read_deepseek_v3, llama_names},
    {"minicpm3", read_minicpm3, llama_names},
    {"glm4_moe", read_glm4_moe, llama_names},
    {"glm4_moe_lite", read_deepseek_v3, llama_names},
};

}  // namespace

std::span<const TypeReader> latent_readers() { return latent_types; }

}  // namespace spillway::models
