#include "scenarios/reading/knobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "scenarios/description/quantity.hpp"
#include "scenarios/json/schema_check.hpp"
#include "scenarios/json/shipped.hpp"
#include "scenarios/reading/plausible.hpp"

namespace spillway::scenarios {

using nlohmann::json;

namespace {

std::string listed(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  if (words.size() == 1) return words.front();
  const std::vector<std::string> first(words.begin(), words.end() - 1);
  return fmt::format("{} or {}", fmt::join(first, ", "), words.back());
}

std::vector<std::string> texts(const json& list) {
  std::vector<std::string> all;
  for (const json& one : list) all.push_back(one.is_string() ? one.get<std::string>() : one.dump());
  return all;
}

/// "a size such as "24 GiB"", by the dimension.
std::string example_of(description::Dimension dimension) {
  using description::Dimension;
  switch (dimension) {
    case Dimension::bytes:
      return "a size such as \"24 GiB\"";
    case Dimension::bytes_per_second:
      return "a rate such as \"6.8 GB/s\"";
    case Dimension::seconds:
      return "a time such as \"85 us\"";
    case Dimension::flops_per_second:
      return "a rate such as \"149 TFLOPS\"";
    case Dimension::params:
      return "a number such as \"1e8 params\"";
    case Dimension::params_per_second:
      return "a rate such as \"0.6 Gparam/s\"";
  }
  return "";
}

std::string number_words(const json& node, const char* noun) {
  std::string text = noun;
  if (node.contains("minimum")) text += " from " + node["minimum"].dump();
  if (node.contains("maximum")) text += " to " + node["maximum"].dump();
  return text;
}

/// Whether a schema's "type" is `type`, or has it among others.
bool is_of(const json& types, const char* type) {
  return types == type ||
         (types.is_array() && std::find(types.begin(), types.end(), type) != types.end());
}

/// What a value may be, as the schema says it.
std::string values_of(const json& node) {
  const json types = node.value("type", json());
  const auto is = [&](const char* type) { return is_of(types, type); };
  std::vector<std::string> all;
  if (is("boolean")) all = {"true", "false"};
  if (is("integer")) all.push_back(number_words(node, "a whole number"));
  if (is("number")) all.push_back(number_words(node, "a number"));
  if (node.contains("enum")) {
    const std::vector<std::string> words = texts(node["enum"]);
    all.insert(all.end(), words.begin(), words.end());
  } else if (const auto dimension =
                 description::dimension_of_format(node.value("format", std::string()))) {
    all.push_back(example_of(*dimension));
  } else if (is("string") && !node.contains("x-words")) {
    all.emplace_back("a text");
  }
  if (is("array"))
    all.push_back(node["items"].contains("enum")
                      ? "a list of " + listed(texts(node["items"]["enum"]))
                      : "a list");
  if (is("object")) all.emplace_back("an object");
  for (const std::string& word : texts(node.value("x-words", json::array()))) all.push_back(word);
  return listed(all);
}

/// The words that a value may be.
std::vector<std::string> choices_of(const json& node) {
  std::vector<std::string> all;
  if (const json types = node.value("type", json()); is_of(types, "boolean"))
    all = {"true", "false"};
  for (const char* key : {"enum", "x-words"})
    for (const std::string& word : texts(node.value(key, json::array()))) all.push_back(word);
  return all;
}

/// Walks the schemas; each leaf is a knob.
class Collector {
 public:
  explicit Collector(const std::vector<SystemInfo>& systems)
      : words_(read_located(shipped_file("scenarios/knobs", "knobs")).value),
        plain_(json(description::Scenario{})) {
    for (const SystemInfo& system : systems) defaults_.emplace_back(system.name, system.defaults);
  }

  std::vector<Knob> run() {
    walk(schema("scenario"), "", true);
    walk(schema("machine"), "machine", true);
    for (const auto& [path, unused] : words_.items())
      ENSURE(std::any_of(all_.begin(), all_.end(),
                         [&](const Knob& knob) { return knob.path == path; }),
             "scenarios/knobs has words for " + path + ", which no schema knows");
    return std::move(all_);
  }

 private:
  void walk(const json& node, const std::string& path, bool required) {
    if (node.contains("x-retired")) return;
    const bool items =
        node.value("type", json()) == "array" && node["items"].value("type", json()) == "object";
    if (items) return walk(node["items"], path + ".NAME", required);
    if (!node.contains("properties") || node["properties"].empty()) {
      add(node, path, required);
      return;
    }
    const json asked = node.value("required", json::array());
    for (const auto& [key, child] : node["properties"].items()) {
      const bool must = std::find(asked.begin(), asked.end(), key) != asked.end();
      walk(child, path.empty() ? key : path + "." + key, required && must);
    }
  }

  void add(const json& node, const std::string& path, bool required) {
    const json words = words_of(node, path);
    Knob& knob = all_.emplace_back();
    knob.path = path;
    knob.words = words.at("words").get<std::string>();
    json bounded = node;
    if (const auto most = largest_count(path)) bounded["maximum"] = *most;
    knob.values = values_of(bounded);
    knob.choices = choices_of(node);
    knob.only_choices = !knob.choices.empty() && !node.contains("x-words");
    knob.deepspeed = words.value("deepspeed", "");
    knob.systems = words.value("systems", "");
    knob.required = required;
    find_defaults(knob);
  }

  /// Those of a part stand in its schema, made of its list of knobs; all others in scenarios/knobs.
  json words_of(const json& node, const std::string& path) const {
    if (!path.starts_with("strategy.")) {
      ENSURE(words_.contains(path), "scenarios/knobs has no words for " + path);
      return words_[path];
    }
    return {{"words", node.at("description")},
            {"deepspeed", node.value("x-deepspeed", "")},
            {"systems", node.value("x-systems", "")}};
  }

  static std::string text(const json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  void find_defaults(Knob& knob) {
    if (!knob.path.starts_with("strategy.")) {
      const json::json_pointer at(pointer_of(knob.path));
      const bool own = knob.path.starts_with("training.") || knob.path.starts_with("parallel.") ||
                       knob.path.starts_with("run.");
      if (own && plain_.contains(at)) knob.defaults.push_back({text(plain_[at]), {}});
      return;
    }
    if (knob.path == "strategy.system") return;
    const json::json_pointer at(pointer_of(knob.path.substr(9)));
    for (const auto& [system, parts] : defaults_) {
      if (!parts.contains(at)) continue;
      const std::string value = text(parts[at]);
      const auto same = std::find_if(knob.defaults.begin(), knob.defaults.end(),
                                     [&](const auto& one) { return one.first == value; });
      if (same == knob.defaults.end())
        knob.defaults.push_back({value, {system}});
      else
        same->second.push_back(system);
    }
    if (knob.defaults.size() == 1 && knob.defaults[0].second.size() == defaults_.size())
      knob.defaults[0].second.clear();
  }

  const json words_;
  const json plain_;
  std::vector<std::pair<std::string, json>> defaults_;
  std::vector<Knob> all_;
};

std::vector<std::string> steps_of(const std::string& path) {
  std::vector<std::string> steps(1);
  for (const char c : path)
    if (c == '.' || c == '[')
      steps.emplace_back();
    else if (c != ']')
      steps.back() += c;
  return steps;
}

bool same_steps(const std::string* own, const std::string* asked, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (own[i] != asked[i] && own[i] != "NAME") return false;
  return true;
}

/// Whether a key that DeepSpeed has for the knob is `asked`, or has it as some of its steps.
bool names_deepspeed(const Knob& knob, const std::string& asked) {
  std::size_t from = 0;
  while (from < knob.deepspeed.size()) {
    const std::size_t end =
        std::min(knob.deepspeed.find_first_of(",; ", from), knob.deepspeed.size());
    const std::string key = "." + knob.deepspeed.substr(from, end - from) + ".";
    if (key.find("." + asked + ".") != std::string::npos) return true;
    from = end + 1;
  }
  return false;
}

}  // namespace

std::vector<Knob> knobs(const std::vector<SystemInfo>& systems) { return Collector(systems).run(); }

std::vector<Knob> knobs_named(const std::vector<Knob>& all, const std::string& asked) {
  const std::vector<std::string> steps = steps_of(asked);
  std::vector<Knob> exact, below, ending, within;
  for (const Knob& knob : all) {
    const std::vector<std::string> own = steps_of(knob.path);
    if (own.size() < steps.size()) continue;
    const std::size_t more = own.size() - steps.size();
    if (same_steps(own.data(), steps.data(), steps.size()))
      (more == 0 ? exact : below).push_back(knob);
    if (more > 0 && same_steps(own.data() + more, steps.data(), steps.size()))
      ending.push_back(knob);
    for (std::size_t before = 1; before < more; ++before)
      if (std::equal(steps.begin(), steps.end(), own.begin() + static_cast<long>(before))) {
        within.push_back(knob);
        break;
      }
  }
  std::vector<Knob> of_deepspeed;
  for (const Knob& knob : all)
    if (names_deepspeed(knob, asked)) of_deepspeed.push_back(knob);
  const bool is_path = steps.size() > 1;  // an item of any name would end in it too
  if (is_path && !of_deepspeed.empty() && exact.empty() && below.empty()) return of_deepspeed;
  for (auto* found : {&exact, &below, &ending, &within, &of_deepspeed})
    if (!found->empty()) return std::move(*found);
  return {};
}

}  // namespace spillway::scenarios
