#include "models/architecture/config_source.hpp"

#include "models/architecture/type_readers.hpp"

#include <algorithm>
#include <cctype>

namespace spillway::models {

namespace {

struct Alias {
  const char* type;
  const char* read_as;
};

/// Types whose language model is one that has a reader. Of multimodal types this is the type of
/// their `text_config`, or of the whole file where it has none.
constexpr Alias aliases[] = {
    {"qwen2_vl", "qwen2"},
    {"qwen2_vl_text", "qwen2"},
    {"qwen2_5_vl", "qwen2"},
    {"qwen2_5_vl_text", "qwen2"},
    {"qwen2_5_omni_text", "qwen2"},
    {"qwen3_vl", "qwen3"},
    {"qwen3_vl_text", "qwen3"},
    {"qwen3_vl_moe", "qwen3_moe"},
    {"qwen3_vl_moe_text", "qwen3_moe"},
    {"qwen3_omni_moe_text", "qwen3_moe"},
    {"qwen3_5", "qwen3_5_text"},
    {"qwen3_5_moe", "qwen3_5_moe_text"},
    {"gemma3", "gemma3_text"},
    {"gemma4", "gemma4_text"},
    {"deci", "nemotron-nas"},
    {"paligemma", "gemma"},
    {"llama4", "llama4_text"},
    {"mllama", "mllama_text_model"},
    {"llava", "llama"},
    {"llava_next", "llama"},
    {"llava_llama", "llama"},
    {"llava_mistral", "mistral"},
    {"llava_qwen", "qwen2"},
    {"idefics3", "llama"},
    {"smolvlm", "llama"},
    {"lfm2_vl", "lfm2"},
    {"voxtral", "llama"},
    {"mistral3", "mistral"},
    {"pixtral", "mistral"},
    {"glm4v", "glm4"},
    {"glm4v_text", "glm4"},
    {"glm4v_moe", "glm4_moe"},
    {"glm4v_moe_text", "glm4_moe"},
    {"kimi_vl", "deepseek_v3"},
    {"kimi_k25", "kimi_k2"},
    {"deepseek_vl_v2", "deepseek_v2"},
    {"phi3_v", "phi3"},
    {"phi4mm", "phi3"},
    {"Yi", "llama"},
    {"aquila", "llama"},
    {"xverse", "llama"},
    {"stablelm_epoch", "stablelm"},
};

std::string reading_type(const std::string& type) {
  for (const Alias& alias : aliases)
    if (type == alias.type) return alias.read_as;
  return type;
}

/// "Qwen3MoeForCausalLM" and "qwen3_moe" both become "qwen3moe".
std::string folded(std::string name) {
  for (const char* end : {"ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForMaskedLM",
                          "ForSequenceClassification", "Model"})
    if (name.ends_with(end)) {
      name.resize(name.size() - std::string_view(end).size());
      break;
    }
  std::string letters;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

/// The type whose name an entry of `architectures` has; empty: none.
std::string type_of_architectures(ConfigKeys& keys) {
  for (const std::string& name : keys.words("architectures")) {
    const std::string wanted = folded(name);
    for (const std::string& type : known_model_types())
      if (wanted == folded(type)) return type;
    for (const Alias& alias : aliases)
      if (wanted == folded(alias.type)) return alias.read_as;
  }
  return "";
}

/// The type whose keys these are; empty: none.
std::string type_of_keys(const ConfigKeys& keys) {
  const auto all = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [&](const char* key) { return keys.has(key); });
  };
  if (all({"n_embd", "n_layer", "n_head"})) return keys.has("rotary_dim") ? "gptj" : "gpt2";
  if (all({"d_model", "d_kv", "d_ff"})) return "t5";
  if (!all({"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"}))
    return "";
  if (keys.has("kv_lora_rank")) return "deepseek_v3";
  if (keys.has("num_local_experts")) return "mixtral";
  if (all({"num_experts", "moe_intermediate_size"})) return "qwen3_moe";
  if (keys.has("type_vocab_size") && !keys.has("rms_norm_eps")) return "bert";
  return keys.has("rms_norm_eps") ? "llama" : "";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Keys of a file that say nothing about shapes.
bool is_idle(const std::string& key) {
  for (const char* part :
       {"token",    "dropout", "drop_",       "dtype",         "version",      "init",
        "cache",    "coef",    "auto_map",    "architectures", "model_type",   "_name",
        "rope_",    "loss",    "use_flash",   "return_",       "output_",      "quant",
        "pad",      "clip",    "pretraining", "scal",          "transformers", "id2label",
        "label2id", "torch"})
    if (key.find(part) != std::string::npos) return true;
  return false;
}

/// Keys that the reader of `near` does not ask for: what it would miss.
std::string missed_by(const ConfigSource& source, const std::string& near) {
  ConfigKeys keys = source.keys();
  Architecture a;
  a.model_type = near;
  reader_named(near)->read(keys, a);
  std::vector<std::string> missed;
  for (const auto& [key, value] : source.config.items()) {
    const bool says_something = (value.is_number() && value != 0) || value.is_array() ||
                                (value.is_boolean() && value.get<bool>()) || value.is_object();
    if (says_something && !keys.asked(key) && !is_idle(key) && missed.size() < 6)
      missed.push_back(key);
  }
  return joined(missed);
}

/// A name that a slip may have meant: what is further away is another model.
std::string near_name(const std::string& type) {
  const std::string nearest = description::nearest_name(type, known_model_types());
  return is_slip(type, nearest) ? nearest : "";
}

/// Meta's own releases of Llama: they leave out the width of the feed-forward, and some the
/// vocabulary.
bool is_of_meta(const ConfigKeys& keys) {
  return keys.has("dim") && keys.has("n_layers") && keys.has("n_heads") && !keys.has("hidden_size");
}

[[noreturn]] void refuse_type(ConfigKeys& keys, const ConfigSource& source,
                              const std::string& type) {
  if (is_of_meta(keys)) {
    keys.complain("", "a params.json as Meta releases it, which does not say all sizes",
                  "take the config.json of the same model for transformers: its repository on the "
                  "Hugging Face hub has one, and convert_llama_weights_to_hf.py writes one");
    keys.throw_complaints();
  }
  const std::string near = type_of_keys(keys);
  const std::string nearest = near_name(type);
  std::string hint;
  if (!nearest.empty()) hint = "did you mean \"" + nearest + "\"? ";
  if (!near.empty()) {
    const std::string missed = missed_by(source, near);
    hint += "its keys are like those of " + near + "; written as that it is counted without what " +
            (missed.empty() ? "the type adds" : missed + " stand for") + "; ";
  }
  keys.complain("model_type", type.empty() ? "missing" : "no \"" + type + "\"",
                hint + "known: " + joined(known_model_types()));
  keys.throw_complaints();
  throw description::InternalError("a complaint that is not thrown");
}

/// The object that describes the language model of a multimodal file, by the key that holds it.
ConfigSource nested(const ConfigKeys& keys) {
  ConfigSource source{keys.json(), keys.file(), "", "", {}};
  if (keys.has("hidden_size") && keys.has("num_hidden_layers")) return source;
  for (const char* outer : {"text_config", "llm_config", "language_config", "thinker_config"}) {
    const auto found = source.config.find(outer);
    if (found == source.config.end() || found->is_null()) continue;
    if (!found->is_object()) {
      ConfigKeys complaints(keys);
      complaints.complain(outer, found->dump() + " is not an object");
      complaints.throw_complaints();
    }
    nlohmann::json inner = *found;
    if (!inner.contains("tie_word_embeddings") && source.config.contains("tie_word_embeddings"))
      inner["tie_word_embeddings"] = source.config["tie_word_embeddings"];
    source.prefix = std::string(outer) + ".";
    source.config = std::move(inner);
    if (const auto deeper = source.config.find("text_config");
        deeper != source.config.end() && deeper->is_object()) {
      source.prefix += "text_config.";
      source.config = nlohmann::json(*deeper);
    }
    return source;
  }
  return source;
}

void note_quantization(const nlohmann::json& config, std::vector<std::string>& notes) {
  const auto found = config.find("quantization_config");
  if (found == config.end() || !found->is_object()) return;
  const auto method = found->find("quant_method");
  const std::string name =
      method != found->end() && method->is_string() ? method->get<std::string>() : "quantized";
  notes.push_back("This is a release in " + name +
                  "; weights are counted as trained, in training.precision, unless training.method "
                  "quantizes them (qlora: 4 bits).");
}

void note_towers(const ConfigKeys& outer, ConfigSource& source) {
  std::vector<std::string> towers;
  for (const char* key :
       {"vision_config", "audio_config", "mm_vision_tower", "vision_tower", "embd_layer"})
    if (outer.has(key)) towers.emplace_back(key);
  if (source.prefix.empty() && towers.empty()) return;
  source.notes.push_back(
      "The language model alone" +
      (source.prefix.empty() ? std::string()
                             : " (" + source.prefix.substr(0, source.prefix.size() - 1) + ")") +
      (towers.empty() ? "" : "; what " + joined(towers) + " describes is left out") + ".");
}

/// The type to read by; a type that cannot be read is refused here.
std::string decide_type(ConfigSource& source, const ConfigKeys& outer) {
  ConfigKeys keys = source.keys();
  std::string type = keys.text("model_type", "");
  if (type.empty() && !source.prefix.empty()) type = outer.json().value("model_type", "");
  keys.throw_complaints();
  const std::string own = reading_type(type);
  if (const auto no = refused(keys, own)) {
    keys.complain(no->key, no->block + " cannot be described", "transformers with attention can");
    keys.throw_complaints();
  }
  if (reader_named(own)) return own;
  const std::string by_name = type_of_architectures(keys);
  if (!by_name.empty()) {
    source.notes.push_back((type.empty() ? "Without a model_type" : "model_type " + type) +
                           ": read as " + by_name + ", by its architectures.");
    return by_name;
  }
  const std::string by_keys = type.empty() ? type_of_keys(keys) : "";
  if (by_keys.empty()) refuse_type(keys, source, type);
  source.notes.push_back("Without a model_type: read as " + by_keys + ", by its keys.");
  return by_keys;
}

}  // namespace

const std::vector<std::string>& known_model_types() {
  static const std::vector<std::string> types = [] {
    std::vector<std::string> names;
    for (const auto& table : all_readers())
      for (const TypeReader& reader : table) names.emplace_back(reader.type);
    return names;
  }();
  return types;
}

ConfigSource find_source(const nlohmann::json& config, const std::string& file) {
  const ConfigKeys outer(config, file);
  ConfigSource source = nested(outer);
  source.type = decide_type(source, outer);
  note_towers(outer, source);
  note_quantization(config, source.notes);
  if (!source.prefix.empty() && !config.contains("quantization_config"))
    note_quantization(source.config, source.notes);
  return source;
}

}  // namespace spillway::models
