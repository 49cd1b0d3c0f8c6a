#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "scenarios/export_deepspeed.hpp"
#include "scenarios/import_deepspeed.hpp"

#include <memory>

namespace spillway::cli {

namespace {

struct Options {
  std::string file;
  scenarios::ImportOptions import;
  std::vector<std::string> overrides;
  std::string output;
  bool json = false;  ///< run_program() looks at the word itself
};

/// To `output`, or to standard output when it is empty; notes go to standard error.
void deliver(const nlohmann::json& json, const std::string& output,
             const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  if (output.empty()) return print_json(json);
  write_file(output, json.dump(2) + "\n");
}

void add_output(CLI::App& verb, Options& options) {
  verb.add_option("-o,--output", options.output, "file to write; default: standard output");
  verb.add_flag("--json", options.json, "errors as JSON too; the answer always is");
}

}  // namespace

void add_import(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("import", "a scenario from a DeepSpeed configuration (ds_config.json)");
  verb->add_option("ds_config", options->file, "DeepSpeed's JSON configuration")->required();
  verb->add_option("--model", options->import.model, "shipped name or Hugging Face config.json")
      ->required();
  verb->add_option("--machine", options->import.machine, "shipped name or machine file")
      ->required();
  verb->add_option("--ranks", options->import.ranks,
                   "data-parallel ranks; default: the machine's GPUs");
  verb->add_option("--sequence", options->import.sequence, "tokens per sample; default: 4096");
  add_output(*verb, *options);
  verb->footer(
      "Example:\n  spillway import tests/data/ds_config_zero3_nvme_auto.json --model qwen2.5-7b "
      "--machine workstation_2gpu -o my.json");
  verb->callback([options] {
    const auto imported =
        scenarios::import_deepspeed(scenarios::read_located(options->file), options->import);
    deliver(imported.scenario, options->output, imported.notes);
  });
}

void add_export(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "export", "a DeepSpeed configuration with the sizes and counts that a scenario needs");
  verb->add_option("scenario", options->file, "scenario file")->required();
  add_set(*verb, options->overrides, "override one value");
  add_output(*verb, *options);
  verb->footer("Example:\n  spillway export scenarios/examples/qwen7b_memascend_c1.json");
  verb->callback([options] {
    const auto resolved = read(options->file, options->overrides);
    const auto exported = scenarios::export_deepspeed(resolved.scenario);
    deliver(exported.ds_config, options->output, exported.notes);
  });
}

}  // namespace spillway::cli
