#pragma once

#include "reports/answer/remedy.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"
#include "scenarios/description/text.hpp"

#include <string>
#include <vector>

namespace spillway::reports {

/// The command that simulates a scenario with changes, to paste.
///   scenario   the file that was asked about
///   overrides  that were asked for with it
std::string command_with(const std::vector<std::string>& changes, const std::string& scenario,
                         const std::vector<std::string>& overrides);

/// "It fits with 192 GiB of host memory: 12.0 s a step, 84 tokens/s; runs with DeepSpeed".
view::Text remedy_words(const std::string& words, const result::Result& result);

/// A change that makes a scenario fit, in words and as a command to paste; parameters as above.
view::Document remedy_document(const answer::Remedy& remedy, const std::string& scenario,
                               const std::vector<std::string>& overrides);
/// The same as text, below an empty line.
std::string remedy_report(const answer::Remedy& remedy, const std::string& scenario,
                          const std::vector<std::string>& overrides, const Screen& screen);

/// What is said below the remedies: that none was found, or that the search was ended; "" where
/// there is nothing to say.
///   ended  why the search did not go on, "The limit of 5 s was reached"; "" where it was whole
view::Document remedies_document(const answer::Remedies& remedies, const std::string& ended);
/// The same as text, below an empty line.
std::string remedies_note(const answer::Remedies& remedies, const std::string& ended,
                          const Screen& screen);

using description::shell_word;

}  // namespace spillway::reports
