#include "answers/server/validate.hpp"

#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "reports/run/validation_report.hpp"
#include "reports/trace/chrome_trace.hpp"
#include "scenarios/description/data_files.hpp"

#include <memory>
#include <sstream>

namespace spillway::cli {

namespace {

struct ValidateOptions {
  answers::ValidateQuestion question;
  std::string trace_file;
  bool json = false, no_reference = false, ask = false;
};

/// Where it does not disturb a program that reads the answer.
void say(const ValidateOptions& options, const std::string& text) {
  std::fputs(text.c_str(), options.json ? stderr : stdout);
  std::fflush(options.json ? stderr : stdout);
}

/// The set-up before it is a span of no phase as well.
double first_step_s(const result::Trace& trace) {
  for (const result::TraceSpan& span : trace.spans)
    if (span.track == "steps" && span.name == "step 1") return span.start_s;
  return 0;
}

void write_trace(const std::string& file, const result::Trace& measured,
                 const result::Trace& predicted) {
  std::ostringstream text;
  reports::write_chrome_trace(text, reports::on_one_timeline(measured, first_step_s(measured),
                                                             predicted, first_step_s(predicted)));
  write_file(file, text.str());
}

void validate(ValidateOptions options) {
  if (options.question.scenario.empty())
    options.question.scenario =
        (description::data_root() / "scenarios/examples/tiny.json").string();
  options.question.reference = !options.no_reference;
  if (!options.trace_file.empty()) require_writable("--trace", options.trace_file);
  answers::ValidateTalk talk;
  talk.say = [&options](const std::string& text) { say(options, text); };
  talk.warn = warn;
  talk.may_start = [&options] {
    // what root might, the user whom it became perhaps may not
    if (!options.trace_file.empty()) require_writable("--trace", options.trace_file);
    if (options.ask) require_yes(options.json ? stderr : stdout);
  };
  talk.ask_serial = ask_at_terminal;
  if (!options.trace_file.empty())
    talk.keep_traces = [&options](const result::Trace& measured, const result::Trace& predicted) {
      write_trace(options.trace_file, measured, predicted);
    };
  const result::Validation validation = answers::validate(simulator(), options.question, talk);
  if (options.json)
    print_json(nlohmann::json(validation));
  else
    print("\n" + reports::validation_report(validation, reports::screen_of(stdout)));
  if (validation.weights_equal == false) throw CLI::RuntimeError(does_not_hold);
}

}  // namespace

void add_validate(CLI::App& app) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* verb = app.add_subcommand(
      "validate", "runs a scenario for real on this machine, and beside it the prediction");
  verb->add_option("scenario", options->question.scenario,
                   "scenario file (default: the tiny example)");
  verb->add_option("--on", options->question.on,
                   "directory for a storage of the scenario, in their order; NAME=DIR for the one "
                   "of that name; repeatable")
      ->required()
      ->allow_extra_args(false)
      ->type_name("[NAME=]DIR");
  verb->add_option(
          "--allow-raw", options->question.allow_raw,
          "serial number of a disk that --on names instead of a directory, and that may be "
          "overwritten; repeatable")
      ->allow_extra_args(false)
      ->type_name("SERIAL");
  verb->add_option("--profile", options->question.profile,
                   "machine file that probe wrote (default: measure now)");
  verb->add_option("--pace", options->question.pace,
                   "kernels and copies also take the time that this machine's GPU and PCIe need");
  add_device(*verb, options->question.device);
  add_set(*verb, options->question.overrides, "override one value: --set training.micro_batch=2");
  verb->add_flag("--synthetic", options->question.synthetic,
                 "same transfers, nothing computed on the GPU; every read is checked");
  verb->add_flag("--no-reference", options->no_reference,
                 "do not train the resident reference to compare weights with");
  verb->add_option("--trace", options->trace_file,
                   "write a Chrome/Perfetto trace with both runs on one time line");
  verb->add_flag("--strict", options->question.strict,
                 "refuse a storage without O_DIRECT, whose rates would be the page cache's");
  add_shared_folders(*verb);
  verb->add_flag("--ask", options->ask,
                 "wait for a line \"yes\" after saying what will be taken and written");
  verb->add_flag("--json", options->json, "the validation as JSON");
  verb->footer(
      "Exit code 1: the master weights differ from those of the reference.\n"
      "Example:\n  spillway validate scenarios/examples/tiny.json --on . --pace "
      "paced_small");
  verb->callback([options] { validate(*options); });
}

}  // namespace spillway::cli
