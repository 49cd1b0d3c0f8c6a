#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "reports/words/table.hpp"
#include "scenarios/deepspeed/deepspeed_names.hpp"
#include "scenarios/reading/knobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

namespace spillway::cli {

using scenarios::Knob;

namespace {

std::string default_words(const Knob& knob) {
  if (knob.required) return "none, it must be said";
  if (knob.defaults.empty()) return "none";
  std::vector<std::string> all;
  for (const auto& [value, systems] : knob.defaults)
    all.push_back(systems.empty() ? value
                                  : fmt::format("{} ({})", value, fmt::join(systems, ", ")));
  return fmt::format("{}", fmt::join(all, "; "));
}

void print_one(const Knob& knob) {
  const reports::Screen screen = reports::screen_of(stdout);
  print(reports::bold(knob.path, screen) + "\n");
  const auto say = [&](const char* title, const std::string& text) {
    if (!text.empty()) print(reports::paragraph(std::string(title) + text, screen, 2));
  };
  say("", knob.words + ".");
  say("values: ", knob.values);
  say("default: ", default_words(knob));
  say("read by: ", knob.systems.empty() ? "every system that has use for it" : knob.systems);
  say("DeepSpeed: ", knob.deepspeed);
}

void print_list(const std::vector<Knob>& found) {
  reports::Table table;
  table.columns = {{"key", reports::Align::left, 0}, {"what it means", reports::Align::left, 0}};
  for (const Knob& knob : found) table.rows.push_back({knob.path, knob.words});
  print(to_text(table, reports::screen_of(stdout).for_keys()));
}

nlohmann::json knob_json(const Knob& knob) {
  nlohmann::json defaults = nlohmann::json::array();
  for (const auto& [value, systems] : knob.defaults)
    defaults.push_back({{"value", value}, {"systems", systems}});
  return {{"key", knob.path},           {"words", knob.words},       {"values", knob.values},
          {"defaults", defaults},       {"required", knob.required}, {"read_by", knob.systems},
          {"deepspeed", knob.deepspeed}};
}

/// What is known of a key of DeepSpeed that no knob has, below each section of its configuration.
std::string remark_on_deepspeed_key(const std::string& asked) {
  for (const char* section : {"", "zero_optimization.", "zero_optimization.offload_param.",
                              "zero_optimization.offload_optimizer.", "aio."}) {
    const scenarios::KeyRemark remark = scenarios::remark_on(section + asked);
    if (remark.kind == scenarios::KeyRemark::Kind::unknown) continue;
    return remark.words.empty() ? "it has no effect on memory, bytes or time of a step"
                                : remark.words;
  }
  return "";
}

/// The nearest of all paths, of what stands above them and of all last keys.
[[noreturn]] void no_such_knob(const std::vector<Knob>& all, const std::string& asked) {
  if (asked == "nvme_path" || asked.ends_with(".nvme_path"))
    refuse("key", "\"" + asked + "\" is DeepSpeed's folder on the drives, which no key here has",
           "spillway export --nvme-path writes it");
  if (const std::string words = remark_on_deepspeed_key(asked); !words.empty())
    refuse("key", "\"" + asked + "\" is a key of DeepSpeed that no key here stands for", words);
  std::vector<std::string> names;
  for (const Knob& knob : all) {
    names.push_back(knob.path.substr(knob.path.rfind('.') + 1));
    for (std::size_t end = knob.path.find('.'); end != std::string::npos;
         end = knob.path.find('.', end + 1))
      names.push_back(knob.path.substr(0, end));
    names.push_back(knob.path);
  }
  const std::string near = description::nearest_name(asked, names);
  refuse("key", "no \"" + asked + "\"",
         (near.empty() ? "" : "did you mean \"" + near + "\"? ") +
             std::string("spillway describe lists all"));
}

void describe(const std::string& asked, bool json) {
  const std::vector<Knob> all = scenarios::knobs(explore::known_systems());
  const std::vector<Knob> found = asked.empty() ? all : scenarios::knobs_named(all, asked);
  if (found.empty()) no_such_knob(all, asked);
  if (json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Knob& knob : found) list.push_back(knob_json(knob));
    return print_json(list);
  }
  if (found.size() > 3) return print_list(found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i > 0) print("\n");
    print_one(found[i]);
  }
}

}  // namespace

void add_describe(CLI::App& app) {
  auto key = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand(
      "describe", "what a key of a scenario or machine means: values, default, DeepSpeed's name");
  verb->add_option("key", *key,
                   "training.micro_batch, the last part of it, or the beginning of several; "
                   "without one all are listed");
  verb->add_flag("--json", *json, "a list of keys");
  verb->footer("Example:\n  spillway describe strategy.weights.home");
  verb->callback([key, json] { describe(*key, *json); });
}

}  // namespace spillway::cli
