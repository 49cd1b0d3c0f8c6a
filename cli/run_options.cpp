#include "cli/run_options.hpp"

#include "cli/common.hpp"
#include "explore/trials/spread.hpp"
#include "scenarios/description/quantity.hpp"

#include <fmt/format.h>

namespace spillway::cli {

namespace {

double count_of(const std::string& option, const std::string& text) {
  const auto parsed = description::parse_count(text);
  if (!parsed.problem.empty()) refuse(option, parsed.problem, parsed.hint);
  return static_cast<double>(parsed.value);
}

}  // namespace

void add_run_options(CLI::App& verb, RunOptions& options) {
  add_tokens(verb, options);
  verb.add_flag("--range", options.range,
                "how far headline numbers may be off for what nobody states of the machine");
}

void add_tokens(CLI::App& verb, RunOptions& options) {
  CLI::Option* tokens =
      verb.add_option("--tokens", options.tokens,
                      "of the finished run, 1e9 or 60M: days, energy, dollars and drives for them")
          ->type_name("COUNT");
  CLI::Option* data = verb.add_option("--dataset-tokens", options.dataset_tokens,
                                      "in place of --tokens: of the data set")
                          ->type_name("COUNT")
                          ->excludes(tokens);
  verb.add_option("--epochs", options.epochs, "passes over the data set; else 1")
      ->check(positive_number())
      ->needs(data);
}

void add_range(const RunOptions& options, const description::Scenario& scenario,
               result::Result& result) {
  if (options.range)
    result.range = explore::range_of(simulator(), scenario, result, scenario.run.seed);
}

std::optional<double> tokens_of(const RunOptions& options, const std::vector<std::string>& set) {
  const std::string option = options.tokens.empty() ? "--dataset-tokens" : "--tokens";
  if (!options.tokens.empty() || !options.dataset_tokens.empty())
    for (const std::string& one : set)
      for (const char* path : {"run.tokens=", "run.dataset_tokens=", "run.epochs="})
        if (one.starts_with(path))
          refuse(option, "stands beside --set " + one, "say how long the run is in one way");
  if (!options.tokens.empty()) return count_of("--tokens", options.tokens);
  if (options.dataset_tokens.empty()) return std::nullopt;
  return count_of("--dataset-tokens", options.dataset_tokens) *
         (options.epochs > 0 ? options.epochs : 1);
}

std::vector<std::string> run_overrides(const RunOptions& options,
                                       const std::vector<std::string>& set) {
  const auto tokens = tokens_of(options, set);
  if (!tokens) return {};
  return {fmt::format("run.tokens={}", *tokens)};
}

}  // namespace spillway::cli
