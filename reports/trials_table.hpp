#pragma once

#include "reports/answer/trial.hpp"
#include "reports/screen.hpp"

#include <string>
#include <vector>

namespace spillway::reports {

/// What was tried, a line each; "" when nothing was.
std::string trials_table(const std::vector<answer::Trial>& trials, const Screen& screen);

/// Whether their lines differ in what was tried, and in how long drives last, only.
bool reads_the_same(const result::Result& one, const result::Result& other);

/// "9 simulated; 3 of 12 ruled out by bounds, which no schedule can beat."
std::string counts_words(const answer::TrialCounts& counts);

/// How sure an answer is: GPUs of the machine that the result does not use, what is assumed of the
/// trainer, how many of the machine's numbers nobody states, and where to see which.
std::string certainty_words(const result::Result& result, const answer::Certainty& certainty);

/// "1,234 (1,000 to 1,400) tokens/s", with the range where there is one.
std::string rate_words(const result::Result& result);

/// The finished run, what ranges cover and the old prices of an answer: what stands below it.
std::string around(const result::Result& result, const std::string& old_prices,
                   const Screen& screen);

}  // namespace spillway::reports
