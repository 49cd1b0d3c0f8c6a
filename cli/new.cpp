#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/reading/read_model.hpp"

#include <fmt/format.h>
#include <filesystem>
#include <memory>

namespace spillway::cli {

namespace {

struct NewOptions {
  std::string model = "llama-3.1-8b", machine = "gaming_4090", system = "zero_infinity", output;
};

std::string as_json(const std::string& text) { return nlohmann::json(text).dump(); }

/// A scenario that says what most people change, and where the rest is described.
std::string text_of(const NewOptions& options, std::uint64_t cards, std::uint64_t sequence) {
  std::string text =
      "// A scenario of spillway: what is trained, on what, and how. Comments like "
      "this one are allowed.\n"
      "// Every key, its values and its default: spillway describe\n{\n";
  text += fmt::format("  \"model\": {},  // models/library, or the path of a config.json\n",
                      as_json(options.model));
  text += fmt::format("  \"machine\": {},  // scenarios/machines, or a machine file\n",
                      as_json(options.machine));
  text += fmt::format(
      "  \"training\": {{\n"
      "    \"precision\": \"bf16_mixed\",\n"
      "    \"micro_batch\": 1,             // samples of one card and pass\n"
      "    \"gradient_accumulation\": 1,   // passes before an update\n"
      "    \"sequence\": {}              // tokens of a sample\n  }},\n",
      sequence);
  text += fmt::format(
      "  \"parallel\": {{ \"data\": {} }},  // cards that train different samples\n", cards);
  text += fmt::format(
      "  \"strategy\": {{ \"system\": {} }}  // spillway systems; parts change it: spillway "
      "describe "
      "strategy\n}}\n",
      as_json(options.system));
  return text;
}

void write_new(const NewOptions& options) {
  const description::MachineFile machine = scenarios::read_machine(options.machine);
  const std::uint64_t longest = scenarios::read_model(options.model).max_positions;
  constexpr std::uint64_t usual = 4096;
  const std::uint64_t sequence = longest > 0 ? std::min(usual, longest) : usual;
  const std::string text = text_of(options, machine.nodes * machine.gpu.count, sequence);
  // whatever is wrong with it is said before a file is there
  scenarios::read_scenario(scenarios::parse_located(text, ""), {}, explore::known_systems());
  if (options.output.empty()) return print(text);
  if (std::filesystem::exists(options.output))
    refuse("-o", "\"" + options.output + "\" is there already", "name another file");
  write_file(options.output, text);
}

}  // namespace

void add_new(CLI::App& app) {
  auto options = std::make_shared<NewOptions>();
  CLI::App* verb = app.add_subcommand("new", "a minimal scenario with comments, to change by hand");
  verb->add_option("--model", options->model, "a name of models/library or a file")
      ->capture_default_str();
  verb->add_option("--machine", options->machine, "a name of scenarios/machines or a file")
      ->capture_default_str();
  verb->add_option("--system", options->system, "a name that spillway systems lists")
      ->capture_default_str();
  verb->add_option("-o,--out,--output", options->output, "file to write; default: standard output");
  add_shared_folders(*verb);
  verb->footer("Example:\n  spillway new --model qwen2.5-7b --machine workstation_2gpu");
  verb->callback([options] { write_new(*options); });
}

}  // namespace spillway::cli
