#include "reports/run/remedy_report.hpp"

#include "reports/result/way.hpp"
#include "reports/view/text_page.hpp"

#include <algorithm>

namespace spillway::reports {

namespace {

/// "; runs with DeepSpeed", and what that asks of the trainer.
std::string runs_with_words(const result::Result& result) {
  if (!result.runs_with) return "";
  return "; runs with " + result.runs_with->program +
         (result::needs_deepspeed_checkpointing(result)
              ? ", in trainers that call deepspeed.checkpointing: those of Hugging "
                "Face keep checkpoints on the GPU"
              : "");
}

}  // namespace

std::string command_with(const std::vector<std::string>& changes, const std::string& scenario,
                         const std::vector<std::string>& overrides) {
  const auto set_anew = [&](const std::string& one) {
    return std::any_of(changes.begin(), changes.end(), [&](const std::string& change) {
      const std::string path = change.substr(0, change.find('='));
      return one.starts_with(path + "=") || one.starts_with(path + ".");
    });
  };
  std::string command = "spillway simulate " + shell_word(scenario);
  for (const std::string& one : overrides)
    if (!set_anew(one)) command += " --set " + shell_word(one);
  for (const std::string& one : changes) command += " --set " + shell_word(one);
  return command;
}

view::Text remedy_words(const std::string& words, const result::Result& result) {
  return view::filled("It fits with {}: {} a step, {} tokens/s{}",
                      {words, view::seconds(result.step_time_s), view::number(result.tokens_per_s),
                       runs_with_words(result)});
}

view::Document remedy_document(const answer::Remedy& remedy, const std::string& scenario,
                               const std::vector<std::string>& overrides) {
  view::Document document;
  document.title = "It fits with " + remedy.words;
  document.say(remedy_words(remedy.words, remedy.result));
  return document.add(
      view::Verbatim{"", "  " + command_with(remedy.overrides, scenario, overrides)}, true);
}

std::string remedy_report(const answer::Remedy& remedy, const std::string& scenario,
                          const std::vector<std::string>& overrides, const Screen& screen) {
  return "\n" + to_text(remedy_document(remedy, scenario, overrides), screen);
}

view::Document remedies_document(const answer::Remedies& remedies, const std::string& ended) {
  view::Document document;
  const std::string why =
      ended.empty() ? "" : ended + " before all changes were tried; --limit SECONDS waits longer.";
  if (remedies.change) return document.say(why);
  if (remedies.unanswered > 0)
    return document
        .say(view::filled("Not known whether a change of the settings makes it fit: {} simulations "
                          "could not be done. Try again.",
                          {view::count(remedies.unanswered)}))
        .say(why);
  return document.say(
      why.empty()
          ? "No smaller micro-batch, further checkpointing, higher ZeRO stage, "
            "smaller sub-group, smaller part or other system, nor two of them, makes it fit."
          : "No change of the settings that makes it fit was found. " + why);
}

std::string remedies_note(const answer::Remedies& remedies, const std::string& ended,
                          const Screen& screen) {
  const std::string text = to_text(remedies_document(remedies, ended), screen);
  return text.empty() ? "" : "\n" + text;
}

}  // namespace spillway::reports
