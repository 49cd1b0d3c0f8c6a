#include "models/architecture/architecture.hpp"

#include "models/architecture/config_source.hpp"
#include "models/architecture/type_readers.hpp"
#include "scenarios/description/scenario.hpp"

#include <algorithm>
#include <numeric>

namespace spillway::models {

namespace {

// Rough, in floating point, so that absurd sizes are refused before they overflow or fill memory.
void refuse_absurd_sizes(ConfigKeys& keys, const Architecture& a) {
  const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
  const double layers = number(a.layers + a.encoder_layers);
  const double experts = number(std::max<std::uint64_t>(a.experts, 1));
  const double widths = 3 * (experts * number(a.expert_ffn) + number(a.ffn + a.shared_ffn));
  const double h = number(a.hidden);
  const double latents = number(a.latent.query_rank + a.latent.kv_rank);
  const double heads = number(a.heads) * number(a.head_dim + a.value_dim);
  const double block = h * (4 * heads + widths + latents) + latents * heads;
  const double rows = number(a.vocabulary + a.max_positions + a.token_types);
  // Positions are rows of a table in some types only; no type has this many.
  const double tables = a.learned_positions > 0 ? rows : number(a.vocabulary + a.token_types);
  const double ends = 2 * tables * number(a.hidden + a.embedding_width) +
                      number(a.relative_position_buckets) * number(a.heads);
  if (layers * block + ends > 1e15) keys.complain("", "more than 1e15 parameters");
  if (layers * experts > 1e5) keys.complain("", "more than 100000 layers and experts");
}

/// What follows from other numbers, and what must fit them.
void settle(ConfigKeys& keys, Architecture& a, const char* heads_key) {
  if (a.embedding_width == 0) a.embedding_width = a.hidden;
  if (a.head_dim == 0) {
    a.head_dim = a.hidden / a.heads;
    if (a.hidden % a.heads != 0)
      keys.complain(heads_key, std::to_string(a.heads) + " heads do not divide the width " +
                                   std::to_string(a.hidden));
  }
  if (a.heads % a.kv_heads != 0) {
    constexpr const char* key = "num_key_value_heads";
    const bool missing = keys.asked(key) && !keys.has(key);
    keys.complain(key, (missing ? "is missing, and the " : "") + std::to_string(a.kv_heads) +
                           (missing ? " that this type has without it do not" : " does not") +
                           " divide the " + std::to_string(a.heads) + " heads");
  }
  if (a.tied_embeddings && a.head_bias)
    keys.complain("tie_word_embeddings", "a tied head with a bias is not supported");
  if (a.ffn == 0) keys.complain("intermediate_size", "leaves a feed-forward without columns");
  if (a.head_dim == 0) keys.complain(heads_key, "leaves heads without elements");
  if (a.rotated_dims >= a.head_dim) a.rotated_dims = 0;
  for (const BlockTraits& traits : a.blocks) {
    const BlockShape& own = traits.shape;
    const std::uint64_t heads = own.heads > 0 ? own.heads : a.heads;
    const std::uint64_t kv_heads = own.kv_heads > 0 ? own.kv_heads : a.kv_heads;
    if (!attends(traits.mixer) || heads % kv_heads == 0) continue;
    keys.complain("", "a block has " + std::to_string(kv_heads) +
                          " key and value heads, which do "
                          "not divide its " +
                          std::to_string(heads) + " heads");
    break;
  }
}

/// Whether the architecture has this size, as a reader may look at several keys, and it does not
/// follow from another one.
bool has_size(const Architecture& a, std::uint64_t size) {
  const bool all_experts = a.experts > 0 && !a.dense_beside_experts;
  return size == a.vocabulary || size == a.hidden || size == a.layers || size == a.heads ||
         size == a.expert_ffn ||
         (size == a.ffn && size != 4 * a.hidden && !all_experts && a.blocks.empty());
}

/// Transformers fill in a size that a file lacks; who left it out by mistake gets another model.
void note_taken_sizes(const ConfigKeys& keys, Architecture& a) {
  std::string sizes;
  const bool other_layers = keys.has("num_layers");  // exaone, and the key that others have
  for (const auto& [key, size] : keys.taken_sizes())
    if (has_size(a, size) && !(other_layers && key.ends_with("num_hidden_layers")))
      sizes += (sizes.empty() ? "" : ", ") + key + " (" + std::to_string(size) + " is taken)";
  if (!sizes.empty())
    a.notes.push_back("Not in the file: " + sizes + ", as " + a.model_type +
                      " has it in transformers.");
}

}  // namespace

BlockTraits Architecture::block(std::uint64_t number) const {
  if (number < blocks.size()) return blocks[number];
  BlockTraits alike;
  alike.experts = experts > 0;
  return alike;
}

Architecture Architecture::of_block(const BlockTraits& traits) const {
  Architecture a = *this;
  a.blocks.clear();
  a.notes.clear();
  const BlockShape& own = traits.shape;
  const auto take = [](std::uint64_t& size, std::uint64_t differs) {
    if (differs > 0) size = differs;
  };
  take(a.heads, own.heads);
  take(a.kv_heads, own.kv_heads);
  take(a.head_dim, own.head_dim);
  take(a.value_dim, own.value_dim);
  take(a.rotated_dims, own.rotated_dims);
  take(a.ffn, own.ffn);
  a.attention_sinks = attention_sinks && traits.sinks;
  a.here = traits;
  return a;
}

std::vector<std::pair<const char*, std::uint64_t>> Architecture::shared_by_ranks() const {
  std::uint64_t all_heads = 0, all_kv_heads = 0, columns = 0, channels = 0;
  const auto add = [&](const Architecture& a, const BlockTraits& traits) {
    if (attends(traits.mixer)) {
      all_heads = std::gcd(all_heads, a.heads);
      all_kv_heads = std::gcd(all_kv_heads, a.kv_heads);
    }
    if (traits.mixer == Mixer::short_convolution) channels = a.hidden;
    if (traits.feeds && (!traits.experts || dense_beside_experts))
      columns = std::gcd(columns, a.ffn);
  };
  for (const BlockTraits& traits : blocks) add(of_block(traits), traits);
  if (blocks.empty()) add(*this, block(0));
  return {{"attention heads", all_heads},
          {"key and value heads", all_kv_heads},
          {"feed-forward columns", columns},
          {"heads of linear attention", std::gcd(delta.key_heads, delta.value_heads)},
          {"heads and groups of the state space", std::gcd(state_space.heads, state_space.groups)},
          {"channels of short convolutions", channels},
          {"columns of an expert", expert_ffn},
          {"columns of the shared experts", shared_ffn}};
}

namespace {

/// The first of the keys that the file has, as a probability; 0: none.
double probability(const nlohmann::json& config, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = config.find(name); found != config.end() && found->is_number())
      return std::clamp(found->get<double>(), 0.0, 1.0);
  return 0;
}

}  // namespace

Architecture read_architecture(const nlohmann::json& config, const std::string& name,
                               const std::string& file) {
  const ConfigSource source = find_source(config, file);
  ConfigKeys keys = source.keys();
  Architecture a;
  a.name = name;
  a.model_type = source.type;
  a.notes = source.notes;
  reader_named(source.type)->read(keys, a);
  keys.refuse_slips();
  keys.throw_complaints();  // what contradicts a number in the place of a wrong one is no news
  settle(keys, a, keys.first_of({"num_attention_heads", "n_head", "num_heads", "n_heads"}));
  refuse_absurd_sizes(keys, a);
  keys.throw_complaints();
  note_taken_sizes(keys, a);
  a.own_dropout =
      probability(keys.json(), {"resid_pdrop", "hidden_dropout_prob", "hidden_dropout", "dropout",
                                "dropout_rate", "resid_dropout", "residual_dropout"});
  a.own_attention_dropout = probability(keys.json(), {"attn_pdrop", "attention_probs_dropout_prob",
                                                      "attention_dropout", "dropout_rate"});
  return a;
}

Architecture architecture_of(const description::Scenario& scenario) {
  Architecture a = read_architecture(scenario.model, scenario.model_name, scenario.model_name);
  a.expert_layout = scenario.training.experts;
  return a;
}

}  // namespace spillway::models
