#include "models/architecture/type_readers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spillway::models {

// Types whose blocks are whole, and mix tokens by attention, by a state space, by both or by a
// short convolution. Multipliers of embeddings, projections and residuals change no shape.

namespace {

struct MixerName {
  const char* name;
  Mixer mixer;
};

/// Gives each block the mixer that the list `key` names; a name that `known` lacks is refused.
void place_mixers(ConfigKeys& keys, Architecture& a, const char* key,
                  std::initializer_list<MixerName> known) {
  const std::vector<std::string> kinds = keys.words(key);
  if (kinds.size() != a.blocks.size())
    return keys.complain(key, std::to_string(kinds.size()) + " kinds for " +
                                  std::to_string(a.blocks.size()) + " layers");
  std::string names;
  for (const MixerName& row : known) names += (names.empty() ? "" : ", ") + std::string(row.name);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const MixerName& row) { return kinds[i] == row.name; });
    if (found == known.end())
      return keys.complain(key, "a block \"" + kinds[i] + "\" cannot be described",
                           "known: " + names);
    a.blocks[i].mixer = found->mixer;
  }
}

/// All blocks as `otherwise`, but those whose numbers are in the list `key`, which attend.
void place_attention(ConfigKeys& keys, Architecture& a, const char* key, Mixer otherwise) {
  for (BlockTraits& block : a.blocks) block.mixer = otherwise;
  for (const std::uint64_t i : keys.counts(key)) {
    if (i >= a.blocks.size())
      return keys.complain(key, "block " + std::to_string(i) + " of " +
                                    std::to_string(a.blocks.size()) + " (the first is 0)");
    a.blocks[i].mixer = Mixer::attention;
  }
}

// ---- State spaces

/// Elements of a head: "auto", or missing: what the heads share of `width`.
std::uint64_t read_state_head(ConfigKeys& keys, std::uint64_t width, std::uint64_t heads) {
  constexpr const char* key = "mamba_d_head";
  const nlohmann::json& json = keys.json();
  const bool is_auto = json.contains(key) && json[key] == "auto";
  const std::uint64_t shared = width / heads;
  const std::uint64_t dim = is_auto ? shared : keys.count(key, std::max<std::uint64_t>(shared, 1));
  if (heads * dim != width)
    keys.complain(is_auto ? "mamba_n_heads" : key,
                  std::to_string(heads) + " heads of " + std::to_string(dim) +
                      " elements are not the " + std::to_string(width) + " of the state space",
                  "mamba_n_heads by mamba_d_head is hidden_size by mamba_expand, or mamba_d_ssm "
                  "where the type has it");
  return dim;
}

/// The keys that Bamba, Granite and Falcon-H1 share; `width` is that of all heads.
StateSpace read_mamba(ConfigKeys& keys, std::uint64_t width) {
  StateSpace s;
  s.heads = keys.count("mamba_n_heads", 128);
  s.head_dim = read_state_head(keys, width, s.heads);
  s.groups = keys.count("mamba_n_groups", 1);
  s.state = keys.count("mamba_d_state", 256);
  s.kernel = keys.count("mamba_d_conv", 4);
  s.chunk = keys.count("mamba_chunk_size", 256);
  s.convolution_bias = keys.flag("mamba_conv_bias", true);
  s.bias = s.output_bias = keys.flag("mamba_proj_bias", false);
  if (s.heads % s.groups != 0)
    keys.complain("mamba_n_groups", std::to_string(s.groups) + " does not divide the " +
                                        std::to_string(s.heads) + " heads");
  return s;
}

std::uint64_t expanded(ConfigKeys& keys, const Architecture& a) {
  return keys.count("mamba_expand", 2) * a.hidden;
}

/// Sizes of a state space say nothing of a model whose blocks have none.
void read_mamba_of_blocks(ConfigKeys& keys, Architecture& a) {
  if (std::any_of(a.blocks.begin(), a.blocks.end(),
                  [](const BlockTraits& block) { return has_state_space(block.mixer); }))
    a.state_space = read_mamba(keys, expanded(keys, a));
}

/// By the list `layer_types` (transformers 4.5x and 5 call the kinds otherwise); false: none.
bool place_state_spaces(ConfigKeys& keys, Architecture& a) {
  const char* key = keys.first_of({"layer_types", "layers_block_type"});
  if (!keys.has(key)) return false;
  place_mixers(keys, a, key,
               {{"mamba", Mixer::state_space},
                {"attention", Mixer::attention},
                {"linear_attention", Mixer::state_space},
                {"full_attention", Mixer::attention}});
  return true;
}

/// Granite 4: state spaces and attention, mostly without positions; a feed-forward that every
/// token uses, alone or beside experts.
void read_granite_hybrid(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {32000, 4096, 11008, 32, 32, 0, 2048});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.experts = keys.count_or_zero("num_local_experts", 8);
  const std::uint64_t shared = keys.count("shared_intermediate_size", 1024);
  if (a.experts > 0) {
    a.expert_ffn = a.ffn;
    a.experts_per_token = keys.count("num_experts_per_tok", 2);
    a.router_rule = RouterRule::softmax_of_chosen;
    a.shared_ffn = shared;
    check_experts(keys, a, "num_experts_per_tok", "num_local_experts");
  } else {
    a.ffn = shared;
  }
  constexpr const char* positions = "position_embedding_type";
  const std::string kind = keys.text(positions, "nope");
  if (kind != "rope" && kind != "nope")
    keys.complain(positions, "no positions \"" + kind + "\"", "known: rope, nope");
  if (!make_blocks(keys, a)) return;
  for (BlockTraits& block : a.blocks) {
    block.rotary = kind == "rope";
    block.mixer = Mixer::state_space;
  }
  place_state_spaces(keys, a);
  read_mamba_of_blocks(keys, a);
}

WeightNames granite_hybrid_names(const Architecture& a) {
  WeightNames n = granite_moe_names(a);
  n.feed_forward_prefix = "shared_mlp.";
  n.gate.clear();
  n.up = n.gated_up = "input_linear";
  n.down = "output_linear";
  return n;
}

/// Bamba: state spaces, and attention in the blocks that the file names.
void read_bamba(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {128000, 4096, 14336, 32, 32, 8, 262144, 1e-5});
  read_partial_rotary(keys, a, 0.5);
  if (!make_blocks(keys, a)) return;
  if (!place_state_spaces(keys, a))
    place_attention(keys, a, "attn_layer_indices", Mixer::state_space);
  read_mamba_of_blocks(keys, a);
}

/// Falcon-H1: attention and a state space read the same input in every block.
void read_falcon_h1(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {128000, 4096, 14336, 32, 32, 8, 8192, 1e-5});
  a.qkv_bias = a.attention_output_bias = keys.flag("attention_bias", false);
  a.ffn_bias = keys.flag("mlp_bias", false);
  constexpr const char* width_key = "mamba_d_ssm";
  const bool expands = keys.json().contains(width_key) && !keys.has(width_key);  // null
  a.state_space = read_mamba(keys, expands ? expanded(keys, a) : keys.count(width_key, 1024));
  a.state_space.output_bias = keys.flag("projectors_bias", false);
  a.state_space.norm = keys.flag("mamba_rms_norm", false);
  if (!make_blocks(keys, a)) return;
  for (BlockTraits& block : a.blocks) block.mixer = Mixer::attention_and_state_space;
}

WeightNames bamba_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  n.feed_forward_prefix = "feed_forward.";
  n.norm_2 = "pre_ff_layernorm";
  n.final_norm = "model.final_layernorm";
  return n;
}

// ---- Short convolutions

void read_convolutions(ConfigKeys& keys, Architecture& a) {
  a.norm_epsilon = keys.positive(keys.first_of({"norm_eps", "block_norm_eps"}), 1e-5);
  a.tied_embeddings = keys.flag(keys.first_of({"tie_embedding", "tie_word_embeddings"}), true);
  a.head_norm = HeadNorm::per_head;
  a.short_convolution.kernel = keys.count("conv_L_cache", 3);
  a.short_convolution.bias = keys.flag("conv_bias", false);
  if (keys.has("conv_dim") && keys.count("conv_dim", a.hidden) != a.hidden)
    keys.complain("conv_dim",
                  "convolutions are as wide as hidden_size, " + std::to_string(a.hidden) +
                      ", in transformers",
                  "leave it out");
  if (!make_blocks(keys, a)) return;
  if (keys.has("layer_types"))
    place_mixers(keys, a, "layer_types",
                 {{"conv", Mixer::short_convolution}, {"full_attention", Mixer::attention}});
  else if (keys.has("full_attn_idxs"))
    place_attention(keys, a, "full_attn_idxs", Mixer::short_convolution);
}

/// Columns as Lfm2MLP makes them of those of a feed-forward without gate.
std::uint64_t adjusted_columns(ConfigKeys& keys, std::uint64_t columns) {
  const double multiple = keys.positive("block_ffn_dim_multiplier", 1);
  const std::uint64_t step = keys.count("block_multiple_of", 256);
  const double scaled = std::floor(multiple * static_cast<double>(2 * columns / 3));
  if (!(scaled > 0) || scaled > std::numeric_limits<std::int32_t>::max()) {
    keys.complain("block_ffn_dim_multiplier", "leaves no columns, or too many");
    return 0;
  }
  return (static_cast<std::uint64_t>(scaled) + step - 1) / step * step;
}

void read_lfm2(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {65536, 2560, 12288, 32, 32, 8, 128000, 1e-5, 1e6});
  if (keys.has("block_ff_dim")) a.ffn = keys.count("block_ff_dim", a.ffn);
  if (keys.flag("block_auto_adjust_ff_dim", true)) a.ffn = adjusted_columns(keys, a.ffn);
  read_convolutions(keys, a);
}

void read_lfm2_moe(ConfigKeys& keys, Architecture& a) {
  read_rotary(keys, a, {65536, 2048, 7168, 32, 32, 8, 128000, 1e-5, 1e6});
  a.experts = keys.count("num_experts", 32);
  a.experts_per_token = keys.count("num_experts_per_tok", 4);
  a.expert_ffn = keys.count("moe_intermediate_size", 1792);
  a.router_rule =
      keys.flag("norm_topk_prob", true) ? RouterRule::sigmoid_of_chosen : RouterRule::other;
  check_experts(keys, a, "num_experts_per_tok", "num_experts");
  if (!keys.has("layer_types") && !keys.has("full_attn_idxs"))
    keys.complain("layer_types", "missing: nothing says which blocks attend",
                  "write \"conv\" or \"full_attention\" for each layer");
  read_convolutions(keys, a);
  place_experts(keys, a, keys.count_or_zero("num_dense_layers", 2), 1);
}

WeightNames lfm2_names(const Architecture& a) {
  WeightNames n = llama_names(a);
  n.attention_output = "out_proj";
  n.query_norm = "q_layernorm";
  n.key_norm = "k_layernorm";
  n.feed_forward_prefix = n.experts.prefix = "feed_forward.";
  n.gate = n.experts.gate = "w1";
  n.up = n.gated_up = n.experts.up = "w3";
  n.down = n.experts.down = "w2";
  n.norm_1 = "operator_norm";
  n.norm_2 = "ffn_norm";
  n.final_norm = "model.embedding_norm";
  return n;
}

constexpr TypeReader recurrent_types[] = {
    {"granitemoehybrid", read_granite_hybrid, granite_hybrid_names},
    {"bamba", read_bamba, bamba_names},
    {"falcon_h1", read_falcon_h1, bamba_names},
    {"lfm2", read_lfm2, lfm2_names},
    {"lfm2_moe", read_lfm2_moe, lfm2_names},
};

}  // namespace

std::span<const TypeReader> recurrent_readers() { return recurrent_types; }

}  // namespace spillway::models
