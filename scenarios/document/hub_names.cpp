#include "scenarios/document/hub_names.hpp"

#include "scenarios/description/data_files.hpp"
#include "scenarios/json/shipped.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace spillway::scenarios {

namespace {

/// Behind the owner, in lower case.
std::string last_part(const std::string& name) {
  std::string part = name.substr(name.rfind('/') + 1);
  std::transform(part.begin(), part.end(), part.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return part;
}

/// Of how a model was tuned, or is stored in a width in which it can be trained.
constexpr std::string_view tuned_endings[] = {"-instruct", "-it",  "-chat", "-base",   "-hf",
                                              "-pt",       "-mlx", "-bf16", "-unsloth"};

/// Of how the weights of a release are quantized; some stand behind others.
constexpr std::string_view quantized_endings[] = {
    "-fp8",    "-fp8-dynamic", "-fp8-block", "-fp8-static-pertensor",
    "-awq",    "-gptq",        "-int4",      "-int8",
    "-bnb",    "-4bit",        "-8bit",      "-nf4",
    "-fp4",    "-nvfp4",       "-mxfp4",     "-w4a16",
    "-w8a16",  "-w8a8",        "-autoround", "-hqq",
    "-aqlm",   "-exl2",        "-exl3",      "-quantized.w4a16",
    "-gguf",   "-q4_0",        "-q4_k_m",    "-quantized.w8a16",
    "-q5_k_m", "-q6_k",        "-q8_0",      "-quantized.w8a8"};

/// A name without the endings that change no shape.
struct PlainName {
  std::string name;
  std::string quantization;  ///< the endings that say so: "gptq-int4"
};

PlainName without_endings(std::string name) {
  PlainName plain{std::move(name), ""};
  const auto cut = [&](std::string_view ending) {
    if (!plain.name.ends_with(ending)) return false;
    plain.name.resize(plain.name.size() - ending.size());
    return true;
  };
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (const std::string_view ending : tuned_endings) shorter |= cut(ending);
    for (const std::string_view ending : quantized_endings) {
      if (!cut(ending)) continue;
      plain.quantization.insert(0, ending);
      shorter = true;
    }
  }
  if (!plain.quantization.empty()) plain.quantization.erase(0, 1);
  return plain;
}

std::string plain(const std::string& name) { return without_endings(name).name; }

/// The names of the Hub that an entry of the library says it stands for.
std::vector<std::string> hub_names_of(const std::string& entry) {
  std::ifstream file(shipped_file("models/library", entry));
  const nlohmann::json config = nlohmann::json::parse(file, nullptr, false);
  std::vector<std::string> names;
  if (!config.is_object() || !config.contains("_hub") || !config["_hub"].is_array()) return names;
  for (const nlohmann::json& name : config["_hub"])
    if (name.is_string()) names.push_back(name.get<std::string>());
  return names;
}

/// Reads the whole library.
std::string search_library(const std::string& hub_name) {
  const std::string wanted = last_part(hub_name), short_form = plain(wanted);
  std::string found;
  for (const std::string& entry : shipped_names("models/library")) {
    std::vector<std::string> names = hub_names_of(entry);
    names.push_back(entry);
    for (const std::string& name : names) {
      const std::string own = last_part(name);
      if (own == wanted) return entry;
      if (found.empty() && plain(own) == short_form) found = entry;
    }
  }
  return found;
}

}  // namespace

bool is_hub_name(const std::string& text) {
  return !text.empty() && !text.starts_with('.') && !text.starts_with('/') &&
         !text.ends_with(".json") && std::count(text.begin(), text.end(), '/') <= 1;
}

std::string quantization_of(const std::string& hub_name) {
  return without_endings(last_part(hub_name)).quantization;
}

std::string shipped_model(const std::string& hub_name) {
  static thread_local std::map<std::pair<std::string, std::string>, std::string> known;
  const std::pair key(description::data_root().string(), hub_name);
  const auto same = known.find(key);
  if (same != known.end()) return same->second;
  return known[key] = search_library(hub_name);
}

}  // namespace spillway::scenarios
