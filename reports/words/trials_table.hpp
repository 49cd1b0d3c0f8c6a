#pragma once

#include "reports/answer/trial.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <string>
#include <vector>

namespace spillway::reports {

/// A line: a trial, and what it is called there.
struct TrialLine {
  view::Text words;
  const answer::Trial* trial;  ///< outlives the call
};

/// What was tried, a line each; no rows when nothing was.
view::Table trials_table(const std::vector<TrialLine>& lines);
/// Each by its own words.
view::Table trials_table(const std::vector<answer::Trial>& trials);

/// A document that begins with such a table, as text; an empty line stands in the place of one
/// without rows.
std::string text_of_trials(const view::Document& document, const Screen& screen);

/// Whether their lines differ in what was tried, and in how long drives last, only.
bool reads_the_same(const result::Result& one, const result::Result& other);

/// "9 simulated; 3 of 12 ruled out by bounds, which no schedule can beat."
view::Text counts_words(const answer::TrialCounts& counts);
/// " 3 could not be simulated, so there may be a better answer: try again."; "" of none.
view::Text unanswered_words(std::uint64_t unanswered);

/// What is to be known of an answer beside its numbers, a paragraph each.
void add_notes(view::Document& document, const result::Result& result);

/// How sure an answer is: GPUs of the machine that the result does not use, what is assumed of the
/// trainer, how many of the machine's numbers nobody states, and where to see which.
view::Text certainty_words(const result::Result& result, const answer::Certainty& certainty);

/// "1,234 (1,000 to 1,400) tokens/s", with the range where there is one.
view::Text rate_words(const result::Result& result);

/// Adds the finished run, what ranges cover and the old prices of an answer: what stands below it.
void add_around(view::Document& document, const result::Result& result,
                const std::string& old_prices);

}  // namespace spillway::reports
