#include "models/architecture/type_readers.hpp"

#include <algorithm>

namespace spillway::models {

namespace {

void read_llama(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {32000, 4096, 11008, 32, 32, 0, 2048});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.ffn_bias = keys.flag("mlp_bias", false);
}

/// Llama 3.2 Vision as text alone runs it: without the blocks that attend to an image.
void read_mllama(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {128256, 4096, 14336, 40, 32, 8, 131072, 1e-5, 500000});
  const std::vector<std::uint64_t> cross = keys.counts("cross_attention_layers");
  const std::uint64_t left_out = keys.has("cross_attention_layers") ? cross.size() : 8;
  if (left_out >= a.layers)
    return keys.complain("cross_attention_layers", "leaves no blocks that attend to text");
  a.layers -= left_out;
  if (left_out > 0)
    a.notes.push_back(std::to_string(left_out) +
                      " blocks that attend to an image (cross_attention_layers) are left out, as "
                      "text alone passes them by; so are 8 rows of the embedding for images.");
}

/// Qwen windows the blocks from `max_window_layers` on, if at all.
void read_qwen_windows(ConfigKeys& keys, Architecture& a) {
  if (!keys.flag("use_sliding_window", false)) return;
  const std::uint64_t window = read_window(keys, "sliding_window", 4096);
  const std::uint64_t first = keys.count_or_zero("max_window_layers", 28);
  if (keys.has("layer_types")) return read_windows(keys, a, window, 0);
  if (window == 0 || !make_blocks(keys, a)) return;
  for (std::size_t i = first; i < a.blocks.size(); ++i) a.blocks[i].window = window;
}

void read_qwen2(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {151936, 4096, 22016, 32, 32, 32, 32768});
  a.qkv_bias = true;
  read_qwen_windows(keys, a);
  note_prediction_heads(keys, a, "num_nextn_predict_layers");  // mimo
}

void read_qwen3(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {151936, 4096, 22016, 32, 32, 32, 32768});
  a.head_dim = keys.count("head_dim", 128);
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.head_norm = HeadNorm::per_head;
  read_qwen_windows(keys, a);
}

void read_mistral(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {32000, 4096, 14336, 32, 32, 8, 131072});
  read_windows(keys, a, read_window(keys, "sliding_window", 4096), 0);
}

/// InternLM, with one key for the biases of attention.
void read_internlm(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {103168, 4096, 11008, 32, 32, 0, 2048});
  a.attention_output_bias = keys.flag("bias", true);
  a.qkv_bias = keys.flag("qkv_bias", a.attention_output_bias);
}

void read_internlm3(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {128512, 4096, 11008, 32, 32, 32, 32768});
  a.qkv_bias = keys.flag("qkv_bias", false);
  a.attention_output_bias = a.ffn_bias = keys.flag("bias", false);
}

void read_minicpm(ConfigKeys& keys, Architecture& a) {
  read_llama(keys, a);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
}

void read_ernie(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {103424, 1024, 3072, 18, 16, 2, 131072, 1e-5, 500000});
  a.head_dim = keys.count("head_dim", 128);
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  a.qkv_bias = a.attention_output_bias = a.ffn_bias = keys.flag("use_bias", false);
}

void read_hunyuan(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {290943, 4096, 11008, 32, 32, 0, 2048, 1e-5});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.head_norm = HeadNorm::per_head;
}

void read_seed_oss(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {155136, 4096, 27648, 64, 80, 8, 524288});
  a.head_dim = keys.count("head_dim", 128);
  a.qkv_bias = keys.flag("attention_bias", true);
  a.attention_output_bias = keys.flag("attention_out_bias", false);
  a.ffn_bias = keys.flag("mlp_bias", false);
}

/// Every fourth block has no positions.
void read_smollm3(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {128256, 2048, 11008, 36, 16, 4, 32768, 1e-6, 2e6});
  a.tied_embeddings = keys.flag("tie_word_embeddings", true);
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.ffn_bias = keys.flag("mlp_bias", false);
  if (!make_blocks(keys, a)) return;
  const std::vector<std::uint64_t> rotary = keys.counts("no_rope_layers");
  const std::uint64_t interval = keys.count("no_rope_layer_interval", 4);
  for (std::size_t i = 0; i < a.blocks.size(); ++i)
    a.blocks[i].rotary = i < rotary.size() ? rotary[i] != 0 : (i + 1) % interval != 0;
}

void read_helium(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {48000, 2560, 7040, 24, 20, 20, 4096, 1e-8, 1e5});
  a.head_dim = keys.count("head_dim", 128);
  a.qkv_bias = keys.flag("attention_bias", false);
  a.ffn_bias = keys.flag("mlp_bias", false);
  a.wide_norms = true;
}

/// Up and down without a gate.
void read_arcee(ConfigKeys& keys, Architecture& a) {
  read_llama(keys, a);
  a.gated_ffn = false;
  a.activation = read_activation(keys, "hidden_act", "relu2");
}

void read_nemotron(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {256000, 6144, 24576, 32, 48, 0, 4096});
  use_layer_norm(a, false);
  a.hidden_dropout = false;
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.ffn_bias = keys.flag("mlp_bias", false);
  a.gated_ffn = false;
  a.activation = read_activation(keys, "hidden_act", "relu2");
  a.norm_epsilon = keys.positive("norm_eps", 1e-5);
  read_partial_rotary(keys, a, 0.5);
}

void read_olmo(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {50304, 4096, 11008, 32, 32, 0, 2048});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.layer_norm = true;
  a.norm_weights = false;
}

void read_olmo2(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {50304, 4096, 11008, 32, 32, 0, 2048, 1e-5});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.form = BlockForm::output_norm;
  a.head_norm = HeadNorm::whole;
  a.wide_norms = true;
}

void read_olmo3(ConfigKeys& keys, Architecture& a) {
  read_olmo2(keys, a);
  read_windows(keys, a, read_window(keys, "sliding_window", 4096), 4);
}

/// Blocks without a window have no positions where others have one.
void read_exaone4(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {102400, 4096, 16384, 32, 32, 32, 2048, 1e-5});
  a.form = BlockForm::output_norm;
  a.head_norm = HeadNorm::per_head;
  const std::uint64_t window = read_window(keys, "sliding_window", 4096);
  std::uint64_t pattern = 4;  // or "LLLG", a letter each
  const nlohmann::json& json = keys.json();
  if (json.contains("sliding_window_pattern") && json["sliding_window_pattern"].is_string())
    pattern = std::max<std::size_t>(1, json["sliding_window_pattern"].get<std::string>().size());
  else
    pattern = keys.count("sliding_window_pattern", 4);
  read_windows(keys, a, window, pattern);
  if (window > 0)
    for (BlockTraits& block : a.blocks) block.rotary = block.window > 0;
}

void read_phi3(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {32064, 3072, 8192, 32, 32, 0, 4096, 1e-5});
  a.hidden_dropout = true;
  read_partial_rotary(keys, a, 1);
  read_windows(keys, a, read_window(keys, "sliding_window", 0), 0);
}

void read_glm(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {151552, 4096, 13696, 40, 32, 2, 131072, 1.5625e-7});
  a.head_dim = keys.count("head_dim", 128);
  a.qkv_bias = keys.flag("attention_bias", true);
  read_partial_rotary(keys, a, 0.5);
}

void read_glm4(ConfigKeys& keys, Architecture& a) {
  read_glm(keys, a);
  a.form = BlockForm::sandwich;
}

void read_stablelm(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {50304, 2560, 6912, 32, 32, 32, 4096});
  use_layer_norm(a, false);
  a.norm_epsilon = keys.positive("layer_norm_eps", 1e-5);
  a.qkv_bias = keys.flag("use_qkv_bias", false);
  if (keys.flag("qk_layernorm", false)) a.head_norm = HeadNorm::each_head;
  if (keys.flag("use_parallel_residual", false)) a.form = BlockForm::parallel;
  read_partial_rotary(keys, a, 0.25);
}

WeightNames with_head_norms(WeightNames n, const char* query, const char* key) {
  n.query_norm = query;
  n.key_norm = key;
  return n;
}

/// Gate and up in one matrix.
WeightNames with_one_gate(WeightNames n) {
  n.gate.clear();
  n.gated_up = "gate_up_proj";
  return n;
}

WeightNames hunyuan_names(const Architecture& a) {
  return with_head_norms(llama_names(a), "query_layernorm", "key_layernorm");
}

WeightNames output_norm_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  n.norm_1 = "post_attention_layernorm";
  n.norm_2 = "post_feedforward_layernorm";
  return n;
}

WeightNames glm_names(const Architecture& a) {
  WeightNames n = with_one_gate(llama_names(a));
  n.norm_1_after = "post_self_attn_layernorm";
  n.norm_2_after = "post_mlp_layernorm";
  return n;
}

WeightNames phi3_names(const Architecture& a) {
  WeightNames n = with_one_gate(llama_names(a));
  n.qkv = {{"qkv_proj", WeightKind::query}};
  return n;
}

WeightNames stablelm_names(const Architecture& a) {
  return with_head_norms(llama_names(a), "q_layernorm", "k_layernorm");
}

constexpr TypeReader llama_types[] = {
    {"llama", read_llama, llama_names},
    {"mllama_text_model", read_mllama, llama_names},
    {"qwen2", read_qwen2, llama_names},
    {"qwen3", read_qwen3, llama_names},
    {"mistral", read_mistral, llama_names},
    {"ministral", read_mistral, llama_names},
    {"ministral3", read_mistral, llama_names},
    {"granite", read_llama, llama_names},
    {"mimo", read_qwen2, llama_names},
    {"minicpm", read_minicpm, llama_names},
    {"internlm", read_internlm, llama_names},
    {"internlm3", read_internlm3, llama_names},
    {"ernie4_5", read_ernie, llama_names},
    {"hunyuan_v1_dense", read_hunyuan, hunyuan_names},
    {"seed_oss", read_seed_oss, llama_names},
    {"smollm3", read_smollm3, llama_names},
    {"helium", read_helium, llama_names},
    {"arcee", read_arcee, llama_names},
    {"nemotron", read_nemotron, llama_names},
    {"olmo", read_olmo, llama_names},
    {"olmo2", read_olmo2, output_norm_names},
    {"olmo3", read_olmo3, output_norm_names},
    {"exaone4", read_exaone4, output_norm_names},
    {"phi3", read_phi3, phi3_names},
    {"glm", read_glm, glm_names},
    {"glm4", read_glm4, glm_names},
    {"stablelm", read_stablelm, stablelm_names},
};

}  // namespace

WeightNames llama_names(const Architecture&) {
  WeightNames n;
  n.tokens = "model.embed_tokens.weight";
  n.block_prefix = "model.layers.";
  n.attention_prefix = "self_attn.";
  n.qkv = {
      {"q_proj", WeightKind::query}, {"k_proj", WeightKind::key}, {"v_proj", WeightKind::value}};
  n.attention_output = "o_proj";
  n.feed_forward_prefix = "mlp.";
  n.gate = "gate_proj";
  n.gated_up = n.up = "up_proj";
  n.down = "down_proj";
  n.norm_1 = "input_layernorm";
  n.norm_2 = "post_attention_layernorm";
  n.final_norm = "model.norm";
  return n;
}

std::span<const TypeReader> llama_readers() { return llama_types; }

}  // namespace spillway::models
