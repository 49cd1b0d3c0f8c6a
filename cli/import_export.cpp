#include "answers/deepspeed/deepspeed.hpp"
#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "reports/words/pinning_note.hpp"
#include "scenarios/description/text.hpp"
#include "scenarios/json/shipped.hpp"
#include "scenarios/reading/lifetimes_file.hpp"
#include "scenarios/trace/import_trace.hpp"

#include <fmt/format.h>
#include <memory>

namespace spillway::cli {

namespace {

/// Ranks, or tokens of a sample.
constexpr std::uint64_t most_counted = 1'000'000'000;

void note_to_person(const std::string& note) {
  std::fprintf(stderr, "note: %s\n", description::printable(note).c_str());
}

struct ExchangeOptions {
  std::string file;
  scenarios::ImportOptions import;
  scenarios::ExportOptions exported;
  scenarios::TraceOptions trace;
  std::string execution_trace;
  std::vector<std::string> overrides;
  std::string output;
  bool json = false;  ///< run_program() looks at the word itself
};

/// To `output`, or to standard output when it is empty; notes go to standard error.
void deliver(const nlohmann::json& json, const std::string& output,
             const std::vector<text::Text>& notes) {
  for (const text::Text& note : notes) note_to_person(words(note));
  if (output.empty()) return print_json(json);
  write_file(output, json.dump(2) + "\n");
}

void add_output(CLI::App& verb, ExchangeOptions& options) {
  verb.add_option("-o,--out,--output", options.output, "file to write; default: standard output");
  add_shared_folders(verb);
  verb.add_flag("--json", options.json, "errors as JSON too; the answer always is");
}

/// Writes the profile of a trace; false when the file is none.
bool import_profile(const ExchangeOptions& options) {
  const std::string text = scenarios::read_packed(options.file);
  if (!scenarios::looks_like_trace(text)) {
    if (options.import.model.empty()) refuse("--model", "missing", "name the model");
    if (options.import.machine.empty()) refuse("--machine", "missing", "name the machine");
    return false;
  }
  if (options.output.empty())
    refuse("-o", "a profile is two files", "write -o profile.csv, beside it profile.kernels.csv");
  const std::string execution = options.execution_trace.empty()
                                    ? std::string()
                                    : scenarios::read_packed(options.execution_trace);
  const auto imported = scenarios::import_trace(text, options.file, execution,
                                                options.execution_trace, options.trace);
  const auto written = scenarios::write_lifetimes(imported.lifetimes);
  write_files({{options.output, written.tensors},
               {scenarios::kernels_file(options.output), written.kernels}});
  for (const text::Text& note : imported.notes) note_to_person(words(note));
  answer::ImportedProfile profile;
  profile.file = options.output;
  profile.tensors = imported.lifetimes.tensors.size();
  profile.kernels = imported.lifetimes.kernels.size();
  profile.partial = imported.lifetimes.partial;
  profile.notes = imported.notes;
  print_json(profile);
  return true;
}

}  // namespace

void add_import(CLI::App& app) {
  auto options = std::make_shared<ExchangeOptions>();
  CLI::App* verb =
      app.add_subcommand("import",
                         "a scenario from a DeepSpeed configuration (ds_config.json); a lifetime "
                         "profile from a Kineto/Chrome trace");
  verb->add_option("file", options->file, "DeepSpeed's JSON configuration, or a trace (gzip too)")
      ->required();
  verb->add_option("--model", options->import.model,
                   "of a configuration: shipped name or Hugging Face config.json");
  verb->add_option("--machine", options->import.machine,
                   "of a configuration: shipped name or machine file");
  verb->add_option("--execution-trace", options->execution_trace,
                   "of a trace: PyTorch's execution trace of the same step");
  verb->add_option("--device", options->trace.device, "of a trace: GPU; default: 0");
  verb->add_flag("--keep-gaps", options->trace.keep_gaps,
                 "of a trace: keep times in which no kernel runs");
  verb->add_option("--ranks", options->import.ranks,
                   "data-parallel ranks; default: the machine's GPUs")
      ->check(CLI::Range(std::uint64_t{1}, most_counted));
  verb->add_option("--deepspeed", options->import.deepspeed,
                   "of a configuration: version whose defaults it has, such as 0.18; default: the "
                   "newest");
  verb->add_option("--adapter", options->import.adapter,
                   "of a configuration: adapters as an adapter_config.json of PEFT has them");
  verb->add_option("--sequence", options->import.sequence, "tokens per sample; default: 4096")
      ->check(CLI::Range(std::uint64_t{1}, most_counted));
  add_set(*verb, options->overrides,
          "of a configuration: what it does not say, such as training.loss=fused");
  add_output(*verb, *options);
  verb->footer(
      "Example:\n  spillway import tests/data/ds_config_zero3_nvme_auto.json --model qwen2.5-7b "
      "--machine workstation_2gpu -o my.json");
  verb->callback([options] {
    options->file = scenarios::own_or_shipped(options->file);
    if (import_profile(*options)) return;
    const answer::ImportedScenario imported = answers::import_configuration(
        simulator(), options->file, options->import, options->overrides);
    std::vector<text::Text> notes = imported.notes;
    if (const std::string note = reports::pinning_note(imported); !note.empty())
      notes.insert(notes.begin(), text::Text(note));
    deliver(imported.scenario, options->output, notes);
  });
}

void add_export(CLI::App& app) {
  auto options = std::make_shared<ExchangeOptions>();
  CLI::App* verb = app.add_subcommand(
      "export", "a DeepSpeed configuration with the sizes and counts that a scenario needs");
  verb->add_option("scenario", options->file, "scenario file")->required();
  add_set(*verb, options->overrides, "override one value");
  verb->add_option("--nvme-path", options->exported.nvme_path,
                   "folder on the drives, for what goes to NVMe");
  verb->add_option("--deepspeed", options->exported.deepspeed,
                   "version of DeepSpeed, such as 0.18; default: the newest that does the same");
  verb->add_flag("--nearest", options->exported.nearest,
                 "write what DeepSpeed does instead of what it does not have, and say so");
  add_output(*verb, *options);
  verb->footer(
      "Example:\n  spillway export scenarios/examples/qwen7b_workstation.json --nvme-path /nvme");
  verb->callback([options] {
    const auto resolved = read(options->file, options->overrides);
    const answer::ExportedConfiguration exported =
        answers::export_configuration(simulator(), resolved.scenario, options->exported);
    if (exported.needs_nvme_path)
      refuse("--nvme-path", "missing: DeepSpeed stops without the folder that it offloads to",
             "name one on the drives, such as /mnt/nvme");
    deliver(exported.ds_config, options->output, exported.notes);
  });
}

}  // namespace spillway::cli
