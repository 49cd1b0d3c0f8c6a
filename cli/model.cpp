#include "answers/model/model.hpp"

#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "reports/inputs/model_report.hpp"
#include "scenarios/description/names.hpp"
#include "scenarios/json/schema_check.hpp"
#include "scenarios/json/shipped.hpp"

#include <fmt/format.h>
#include <cmath>
#include <cstdlib>
#include <memory>

namespace spillway::cli {

namespace {

struct ModelOptions {
  answers::ModelQuestion question;
  bool json = false;
};

void show_model(const ModelOptions& options) {
  if (options.question.model.empty()) {
    for (const std::string& name : scenarios::shipped_names("models/library")) print(name + "\n");
    return;
  }
  const answer::ModelCard card = answers::model(options.question);
  if (options.json) return print_json(card);
  print(reports::model_report(card, reports::screen_of(stdout)));
}

/// Accepts 1, 2, 3, ...
CLI::Validator count() {
  const auto check = [](const std::string& text) {
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    const bool above_zero = text.find_first_not_of('0') != std::string::npos;
    return digits && above_zero ? "" : "\"" + text + "\" is not a count of 1 or more";
  };
  return CLI::Validator(check, "");
}

/// CLI::Range takes "nan".
CLI::Validator no_nan() {
  const auto check = [](const std::string& text) {
    return std::isnan(std::strtod(text.c_str(), nullptr)) ? "Value " + text + " is no number" : "";
  };
  return CLI::Validator(check, "");
}

/// An option whose values are the words of an enum.
template <class E>
void add_word(CLI::App& verb, const std::string& name, E& value) {
  std::vector<std::string> words(description::names_of<E>.begin(), description::names_of<E>.end());
  const auto read = [&value, name, words](const std::string& word) {
    const auto found = description::value_named<E>(word);
    if (!found) {
      const auto complaint = scenarios::unknown_name({}, "", word, words);
      throw CLI::ValidationError(name, complaint.message + "; " + complaint.hint);
    }
    value = *found;
  };
  verb.add_option_function<std::string>(name, read, fmt::format("{}", fmt::join(words, ", ")));
}

}  // namespace

void add_model(CLI::App& app) {
  auto options = std::make_shared<ModelOptions>();
  CLI::App* verb = app.add_subcommand(
      "model",
      "parameters, tensors, FLOPs and activations of a model; without a name: the library");
  models::Workload& workload = options->question.workload;
  verb->add_option("model", options->question.model,
                   "shipped name, name on the Hugging Face Hub, or config.json");
  verb->add_option("--micro-batch", workload.micro_batch, "samples")->check(count());
  verb->add_option("--sequence", options->question.sequence,
                   "tokens; default: 1024, or as many as the model has positions")
      ->check(count());
  verb->add_option("--tensor", workload.tensor, "tensor-parallel ways")->check(count());
  add_word(*verb, "--precision", workload.precision);
  add_word(*verb, "--attention", workload.attention);
  add_word(*verb, "--experts", options->question.experts);
  verb->add_option("--dropout", workload.dropout, "probability; masks are saved when above 0")
      ->check(CLI::Range(0.0, 1.0) & no_nan());
  verb->add_flag("--activations", options->question.activations, "every tensor saved for backward");
  verb->add_flag("--json", options->json, "as JSON");
  verb->footer(
      "Example:\n  spillway model qwen2.5-7b --micro-batch 4 --sequence 4096 --activations");
  verb->callback([options] { show_model(*options); });
}

}  // namespace spillway::cli
