#include "scenarios/hub_names.hpp"

#include "scenarios/description/data_files.hpp"
#include "scenarios/shipped.hpp"

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

/// Without an ending that says how a model was tuned or stored.
std::string plain(std::string name) {
  constexpr std::string_view endings[] = {"-instruct", "-it", "-chat", "-base", "-hf",
                                          "-bf16",     "-pt", "-fp8",  "-gguf"};
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (const std::string_view ending : endings)
      if (name.ends_with(ending)) {
        name.resize(name.size() - ending.size());
        shorter = true;
      }
  }
  return name;
}

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

std::string shipped_model(const std::string& hub_name) {
  static thread_local std::map<std::pair<std::string, std::string>, std::string> known;
  const std::pair key(description::data_root().string(), hub_name);
  const auto same = known.find(key);
  if (same != known.end()) return same->second;
  return known[key] = search_library(hub_name);
}

}  // namespace spillway::scenarios
