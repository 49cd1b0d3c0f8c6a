#include "models/architecture/type_readers.hpp"

#include <algorithm>

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
    keys.complain("indexer_types",
                  "the first block has no block before it whose tokens it could share");
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

/// What Kimi K3 has besides, under the same model_type, is refused by the key that says so.
void refuse_kimi_k3(ConfigKeys& keys, ConfigKeys& linear) {
  const auto refuse = [](ConfigKeys& at, const char* key, bool is_there, const char* what) {
    if (is_there) at.complain(key, std::string(what) + " cannot be described", "Kimi Linear can");
  };
  refuse(keys, "attn_res_block_size", keys.count_or_zero("attn_res_block_size", 0) > 0,
         "residuals that attend to blocks");
  refuse(keys, "mla_use_output_gate", keys.flag("mla_use_output_gate", false),
         "a gate behind latent attention");
  refuse(keys, "routed_expert_hidden_size", keys.has("routed_expert_hidden_size"),
         "experts of latents that are normed");
  refuse(linear, "use_full_rank_gate", linear.flag("use_full_rank_gate", false),
         "a gate of full rank");
  refuse(keys, "moe_router_activation_func",
         keys.text("moe_router_activation_func", "sigmoid") != "sigmoid",
         "a router that is no sigmoid");
}

/// Blocks of linear attention by `layer_types`, by two lists that count from 1, or all but every
/// fourth.
void place_deltas(ConfigKeys& keys, ConfigKeys& linear, Architecture& a) {
  if (!make_blocks(keys, a)) return;
  const std::vector<std::string> types = keys.words("layer_types");
  const std::vector<std::uint64_t> full = linear.counts("full_attn_layers");
  const std::vector<std::uint64_t> delta = linear.counts("kda_layers");
  const bool listed = linear.has("full_attn_layers") && linear.has("kda_layers");
  if (!types.empty() && types.size() != a.blocks.size())
    return keys.complain("layer_types", std::to_string(types.size()) + " types for " +
                                            std::to_string(a.blocks.size()) + " layers");
  const auto has = [](const std::vector<std::uint64_t>& list, std::uint64_t number) {
    return std::find(list.begin(), list.end(), number) != list.end();
  };
  for (std::size_t i = 0; i < a.blocks.size(); ++i) {
    const bool attends = !types.empty() ? types[i] == "full_attention"
                         : listed       ? has(full, i + 1)
                                        : (i + 1) % 4 == 0;
    if (types.empty() && listed && attends == has(delta, i + 1))
      return linear.complain("kda_layers", "layer " + std::to_string(i + 1) +
                                               " is in both lists, or in none (the first is 1)");
    if (!types.empty() && !attends && types[i] != "linear_attention" && types[i] != "kda_attention")
      return keys.complain("layer_types", "a block \"" + types[i] + "\" cannot be described",
                           "known: full_attention, linear_attention, kda_attention");
    a.blocks[i].rotary = false;
    a.blocks[i].mixer = attends ? Mixer::attention : Mixer::delta_rule;
  }
}

/// Linear attention that forgets each channel of a key by itself, and latent attention without
/// positions.
///   Source  Kimi Linear (2025), 3 and 4
void read_kimi_linear(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {163840, 2304, 9216, 27, 32, 32, 1048576, 1e-5});
  if (keys.has("model_max_length")) a.max_positions = keys.count("model_max_length", 1048576);
  read_latents(keys, a, {0, 512, 128, 64}, 128);
  a.experts = keys.count_or_zero(keys.first_of({"num_experts", "n_routed_experts"}), 256);
  const char* used = keys.first_of({"num_experts_per_token", "num_experts_per_tok"});
  a.experts_per_token = a.experts == 0 ? 0 : keys.count(used, 8);
  a.expert_ffn = keys.count("moe_intermediate_size", 1024);
  a.shared_ffn = keys.count_or_zero(keys.first_of({"num_shared_experts", "n_shared_experts"}), 1) *
                 a.expert_ffn;
  a.router_rule = keys.flag(keys.first_of({"moe_renormalize", "norm_topk_prob"}), true)
                      ? RouterRule::sigmoid_of_chosen
                      : RouterRule::other;
  check_experts(keys, a, used, "num_experts");
  place_experts(keys, a, keys.count_or_zero("first_k_dense_replace", 1),
                keys.count("moe_layer_freq", 1));
  ConfigKeys linear = keys.inside("linear_attn_config");
  a.delta.key_heads = a.delta.value_heads = linear.count("num_heads", 32);
  a.delta.key_dim = a.delta.value_dim = a.delta.rank = linear.count("head_dim", 128);
  a.delta.kernel = linear.count("short_conv_kernel_size", 4);
  refuse_kimi_k3(keys, linear);
  place_deltas(keys, linear, a);
  keys.join(linear);
  note_prediction_heads(keys, a, "num_nextn_predict_layers");
}

WeightNames kimi_linear_names(const Architecture& a) {
  WeightNames n = sparse_block_names(a);
  n.delta_prefix = "self_attn.";
  return n;
}

constexpr TypeReader latent_types[] = {
    {"dots1", read_dots1, llama_names},
    {"deepseek", read_deepseek, llama_names},
    {"deepseek_v2", read_deepseek_v2, llama_names},
    {"deepseek_v3", read_deepseek_v3, llama_names},
    {"deepseek_v32", read_deepseek_v32, llama_names},
    {"glm_moe_dsa", read_glm_dsa, llama_names},
    {"kimi_k2", read_deepseek_v3, llama_names},
    {"kimi_linear", read_kimi_linear, kimi_linear_names},
    {"minicpm3", read_minicpm3, llama_names},
    {"glm4_moe", read_glm4_moe, llama_names},
    {"glm4_moe_lite", read_deepseek_v3, llama_names},
};

}  // namespace

std::span<const TypeReader> latent_readers() { return latent_types; }

}  // namespace spillway::models
