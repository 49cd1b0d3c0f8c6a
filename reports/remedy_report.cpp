#include "reports/remedy_report.hpp"

#include "reports/human.hpp"
#include "reports/table.hpp"

namespace spillway::reports {

namespace {

/// "; runs with DeepSpeed".
std::string runs_with_words(const result::Result& result) {
  return result.runs_with ? "; runs with " + result.runs_with->program : "";
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string remedy_command(const answer::Remedy& remedy, const std::string& scenario,
                           const std::vector<std::string>& overrides) {
  std::string command = "spillway simulate " + shell_word(scenario);
  for (const auto* all : {&overrides, &remedy.overrides})
    for (const std::string& one : *all) command += " --set " + shell_word(one);
  return command;
}

std::string remedy_report(const answer::Remedy& remedy, const std::string& scenario,
                          const std::vector<std::string>& overrides, const Screen& screen) {
  const std::string text =
      "\n" +
      paragraph("It fits with " + remedy.words + ": " + human_time(remedy.result.step_time_s) +
                    " a step, " + human_number(remedy.result.tokens_per_s) + " tokens/s" +
                    runs_with_words(remedy.result),
                screen);
  return text + "  " + remedy_command(remedy, scenario, overrides) + "\n";
}

std::string remedies_note(const answer::Remedies& remedies, const std::string& ended,
                          const Screen& screen) {
  const std::string why =
      ended.empty() ? "" : ended + " before all changes were tried; --limit SECONDS waits longer.";
  if (remedies.change && why.empty()) return "";
  const std::string text =
      remedies.change ? why
      : why.empty()   ? "No smaller micro-batch, further checkpointing, smaller sub-group, "
                        "smaller part or other system, nor two of them, makes it fit."
                      : "No change of the settings that makes it fit was found. " + why;
  return "\n" + paragraph(text, screen);
}

}  // namespace spillway::reports
