#pragma once

#include "reports/answer/machine.hpp"
#include "reports/answer/plan.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <string>

namespace spillway::reports {

/// `spillway plan largest` for a person: what was tried, and the answers in words.
view::Document largest_document(const answer::Largest& largest);
std::string largest_report(const answer::Largest& largest, const Screen& screen);

/// `spillway plan drives`: what was tried, how many are enough and how long they last.
view::Document drives_document(const answer::Drives& drives);
std::string drives_report(const answer::Drives& drives, const Screen& screen);

/// What the words of a `plan settings` refer to besides the answer.
struct SettingsWords {
  std::string machine;         ///< as it was asked about
  std::string scenario_file;   ///< that --out names; "": none
  std::string deepspeed_file;  ///< that was written; "": none was
  bool one_batch = false;      ///< --global-batch was given
};

/// `spillway plan settings`: what was tried, the fastest, and what DeepSpeed can run.
view::Document settings_document(const answer::BestSettings& settings, const SettingsWords& words);
std::string settings_report(const answer::BestSettings& settings, const SettingsWords& words,
                            const Screen& screen);

/// `spillway plan machine`: the box beside its neighbours, or how near the budget comes.
view::Document machine_document(const answer::BestMachine& machine);
std::string machine_report(const answer::BestMachine& machine, const Screen& screen);

}  // namespace spillway::reports
