#include "models/architecture/type_readers.hpp"

#include <algorithm>

namespace spillway::models {

namespace {

void read_mixtral(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {32000, 4096, 14336, 32, 32, 8, 131072, 1e-5, 1e6});
  a.expert_ffn = a.ffn;
  a.experts = keys.count("num_local_experts", 8);
  a.experts_per_token = keys.count("num_experts_per_tok", 2);
  a.router_rule = RouterRule::softmax_of_chosen;
  check_experts(keys, a, "num_experts_per_tok", "num_local_experts");
  read_windows(keys, a, read_window(keys, "sliding_window", 0), 0);
}

void read_phimoe(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {32064, 4096, 6400, 32, 32, 8, 131072, 1e-5, 1e6});
  use_layer_norm(a, false);
  a.hidden_dropout = false;
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.head_bias = keys.flag("lm_head_bias", false);
  a.expert_ffn = a.ffn;
  a.experts = keys.count("num_local_experts", 16);
  a.experts_per_token = keys.count("num_experts_per_tok", 2);
  check_experts(keys, a, "num_experts_per_tok", "num_local_experts");
  read_windows(keys, a, read_window(keys, "sliding_window", 0), 0);
}

void read_qwen2_moe(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {151936, 2048, 5632, 24, 16, 16, 32768});
  a.qkv_bias = keys.flag("qkv_bias", true);
  a.experts = keys.count_or_zero("num_experts", 60);
  a.experts_per_token = keys.count("num_experts_per_tok", 4);
  a.router_rule = read_router_rule(keys);
  a.expert_ffn = keys.count("moe_intermediate_size", 1408);
  a.shared_ffn = keys.count_or_zero("shared_expert_intermediate_size", 5632);
  a.shared_gate = a.shared_ffn > 0;
  check_experts(keys, a, "num_experts_per_tok", "num_experts");
  place_qwen_experts(keys, a);
}

void read_qwen3_moe(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {151936, 2048, 6144, 24, 32, 4, 32768});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.head_norm = HeadNorm::per_head;
  a.experts = keys.count_or_zero("num_experts", 128);
  a.experts_per_token = keys.count("num_experts_per_tok", 8);
  a.router_rule = read_router_rule(keys);
  a.expert_ffn = keys.count("moe_intermediate_size", 768);
  check_experts(keys, a, "num_experts_per_tok", "num_experts");
  place_qwen_experts(keys, a);
}

void read_olmoe(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {50304, 2048, 2048, 16, 16, 0, 4096, 1e-5});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.head_norm = HeadNorm::whole;
  a.expert_ffn = a.ffn;
  a.experts = keys.count("num_experts", 64);
  a.experts_per_token = keys.count("num_experts_per_tok", 8);
  a.router_rule = read_router_rule(keys);
  check_experts(keys, a, "num_experts_per_tok", "num_experts");
}

void read_granite_moe(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {32000, 4096, 11008, 32, 32, 0, 2048});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.expert_ffn = a.ffn;
  a.experts = keys.count("num_local_experts", 8);
  a.experts_per_token = keys.count("num_experts_per_tok", 2);
  a.router_rule = RouterRule::softmax_of_chosen;
  a.shared_ffn = keys.count_or_zero("shared_intermediate_size", 0);
  check_experts(keys, a, "num_experts_per_tok", "num_local_experts");
}

void read_minimax_m2(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {200064, 3072, 1536, 62, 48, 8, 196608});
  if (keys.flag("use_qk_norm", true)) a.head_norm = HeadNorm::whole;
  a.rotated_dims = keys.count_or_zero("rotary_dim", 0);
  a.expert_ffn = a.ffn;
  a.experts = keys.count("num_local_experts", 256);
  a.experts_per_token = keys.count("num_experts_per_tok", 8);
  a.router_rule = RouterRule::sigmoid_of_chosen;
  check_experts(keys, a, "num_experts_per_tok", "num_local_experts");
  note_prediction_heads(keys, a, "num_mtp_modules");
}

void read_ernie_moe(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {103424, 2560, 12288, 28, 20, 4, 131072, 1e-5, 500000});
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  a.qkv_bias = a.attention_output_bias = a.ffn_bias = keys.flag("use_bias", false);
  a.experts = keys.count("moe_num_experts", 64);
  a.experts_per_token = keys.count("moe_k", 6);
  a.router_rule = RouterRule::softmax_of_chosen;
  a.expert_ffn = keys.count("moe_intermediate_size", 1536);
  a.shared_ffn = keys.count_or_zero("moe_num_shared_experts", 2) * a.expert_ffn;
  a.expert_bias = a.ffn_bias;
  check_experts(keys, a, "moe_k", "moe_num_experts");
  place_experts(keys, a, keys.count_or_zero("moe_layer_start_index", 1),
                keys.count("moe_layer_interval", 1));
}

void read_dbrx(ConfigKeys& keys, Architecture& a) {
  a.vocabulary = keys.count("vocab_size", 32000);
  a.hidden = keys.count("d_model", 2048);
  a.heads = keys.count("n_heads", 16);
  a.layers = keys.count("n_layers", 24);
  a.max_positions = keys.count("max_seq_len", 2048);
  a.tied_embeddings = keys.flag("tie_word_embeddings", false);
  ConfigKeys attention = keys.inside("attn_config"), experts = keys.inside("ffn_config");
  a.kv_heads = attention.count("kv_n_heads", 1);
  a.rope_theta = attention.positive("rope_theta", 10000);
  a.ffn = a.expert_ffn = experts.count("ffn_hidden_size", 3584);
  a.experts = experts.count("moe_num_experts", 4);
  a.experts_per_token = experts.count("moe_top_k", 1);
  a.router_rule = RouterRule::softmax_of_chosen;
  check_experts(experts, a, "moe_top_k", "moe_num_experts");
  keys.join(attention);
  keys.join(experts);
  a.gated_ffn = true;
  a.layer_norm = a.hidden_dropout = true;
}

/// Every other block slides; all projections have biases; one tensor for all experts.
void read_gpt_oss(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {201088, 2880, 2880, 36, 64, 8, 131072, 1e-5, 150000});
  a.head_dim = keys.count("head_dim", 64);
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", true);
  a.attention_sinks = a.clamped_gate = a.router_bias = a.expert_bias = a.wide_norms = true;
  a.expert_ffn = a.ffn;
  a.experts = keys.count(keys.first_of({"num_local_experts", "num_experts"}), 128);
  const char* used = keys.first_of({"num_experts_per_tok", "experts_per_token"});
  a.experts_per_token = keys.count(used, 4);
  check_experts(keys, a, used, "num_local_experts");
  read_windows(keys, a, read_window(keys, "sliding_window", 128), 2);
}

/// Chunks of the sequence and rotary positions in three blocks of four, neither in the fourth.
void place_llama4_attention(ConfigKeys& keys, Architecture& a) {
  const std::uint64_t chunk = read_window(keys, "attention_chunk_size", 8192);
  const std::vector<std::uint64_t> rotary = keys.counts("no_rope_layers");
  const std::uint64_t interval = keys.count("no_rope_layer_interval", 4);
  for (std::size_t i = 0; i < a.blocks.size(); ++i) {
    BlockTraits& block = a.blocks[i];
    block.rotary = i < rotary.size() ? rotary[i] != 0 : (i + 1) % interval != 0;
    if (!block.rotary || chunk == 0) continue;
    block.window = chunk;
    block.chunked = true;
  }
}

void read_llama4(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {202048, 5120, 8192, 48, 40, 8, 131072, 1e-5, 500000});
  a.head_dim = keys.count("head_dim", 128);
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.expert_ffn = a.ffn;
  a.ffn = keys.count("intermediate_size_mlp", 16384);
  a.experts = keys.count("num_local_experts", 16);
  a.experts_per_token = keys.count("num_experts_per_tok", 1);
  a.shared_ffn = a.expert_ffn;
  check_experts(keys, a, "num_experts_per_tok", "num_local_experts");
  if (!make_blocks(keys, a)) return;
  const std::uint64_t step = keys.count("interleave_moe_layer_step", 1);
  const std::vector<std::uint64_t> chosen = keys.counts("moe_layers");
  for (std::size_t i = 0; i < a.blocks.size(); ++i)
    a.blocks[i].experts = chosen.empty()
                              ? (i + 1) % step == 0
                              : std::find(chosen.begin(), chosen.end(), i) != chosen.end();
  place_llama4_attention(keys, a);
}

WeightNames dbrx_names(const Architecture&) {
  WeightNames n;
  n.tokens = "transformer.wte.weight";
  n.block_prefix = "transformer.blocks.";
  n.attention_prefix = "norm_attn_norm.attn.";
  n.qkv = {{"Wqkv", WeightKind::query}};
  n.attention_output = "out_proj";
  n.experts.prefix = "ffn.";
  n.experts.router = "router.layer";
  n.experts.inside = "experts.mlp.";
  n.experts.gate = "w1";
  n.experts.up = "v1";
  n.experts.down = "w2";
  n.experts.stacked = true;
  n.norm_1 = "norm_attn_norm.norm_1";
  n.norm_2 = "norm_attn_norm.norm_2";
  n.norm_place = NormPlace::beginning;
  n.final_norm = "transformer.norm_f";
  return n;
}

WeightNames gpt_oss_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  n.experts.router = "router";
  n.experts.gate.clear();
  n.experts.up = "gate_up_proj";
  n.experts.down = "down_proj";
  n.experts.stacked = n.experts.inputs_first = true;
  return n;
}

WeightNames llama4_names(const Architecture& a) {
  WeightNames n = gpt_oss_names(a);
  n.feed_forward_prefix = n.experts.prefix = "feed_forward.";
  n.experts.shared = "shared_expert.";
  return n;
}

constexpr TypeReader expert_types[] = {
    {"mixtral", read_mixtral, sparse_block_names},
    {"qwen2_moe", read_qwen2_moe, qwen_moe_names},
    {"qwen3_moe", read_qwen3_moe, llama_names},
    {"olmoe", read_olmoe, llama_names},
    {"phimoe", read_phimoe, sparse_block_names},
    {"granitemoe", read_granite_moe, granite_moe_names},
    {"granitemoeshared", read_granite_moe, granite_moe_names},
    {"minimax_m2", read_minimax_m2, sparse_block_names},
    {"ernie4_5_moe", read_ernie_moe, llama_names},
    {"dbrx", read_dbrx, dbrx_names},
    {"gpt_oss", read_gpt_oss, gpt_oss_names},
    {"llama4_text", read_llama4, llama4_names},
};

}  // namespace

std::span<const TypeReader> expert_readers() { return expert_types; }

WeightNames sparse_block_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  if (a.expert_layout == ExpertLayout::stacked) return n;
  n.experts.prefix = "block_sparse_moe.";
  n.experts.gate = "w1";
  n.experts.up = "w3";
  n.experts.down = "w2";
  return n;
}

WeightNames granite_moe_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  n.experts.prefix = "block_sparse_moe.";
  n.experts.router = "router.layer";
  n.experts.inside.clear();
  n.experts.gate.clear();
  n.experts.up = "input_linear.weight";
  n.experts.down = "output_linear.weight";
  n.experts.stacked = true;
  n.experts.shared = "shared_mlp.";
  n.experts.shared_outside = true;
  n.experts.shared_gate_matrix.clear();
  n.experts.shared_up = "input_linear";
  n.experts.shared_down = "output_linear";
  return n;
}

}  // namespace spillway::models
