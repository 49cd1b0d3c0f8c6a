#pragma once

#include "reports/answer/fit.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <ctime>
#include <string>

namespace spillway::reports {

/// What was asked, as it is said back.
struct FitWords {
  std::string model, box;
  std::string out;        ///< the file that was written; "" for none
  bool runnable = false;  ///< only what people can run was asked for
  std::time_t now = 0;    ///< the days that a training reaches are counted from here
};

/// "What helps most: one more drive, +12 %, 181 tokens/s, for $200 more"; of what makes it fit, and
/// of what makes it fit with what people can run, that is what it says first.
///   answer  has a change
view::Text change_words(const answer::FitAnswer& answer);

/// Whether more samples a step bring more than what one would buy; false where nothing runs.
bool samples_help_most(const answer::FitAnswer& answer);
/// A fused loss, by itself or with more samples a step, brings more than anything else.
bool fused_loss_helps_most(const answer::FitAnswer& answer);
/// "What costs nothing: a fused loss ..."; of an answer that has one.
view::Text fused_loss_words(const answer::FitAnswer& answer);

/// "What helps most costs nothing: 8 micro-batches before each update, ..., 2,612 tokens/s".
///   answer  has more_samples
view::Text samples_words(const answer::FitAnswer& answer);

/// `spillway fit` for a person: a table of what is best, or of what is needed, and what helps most.
view::Document fit_document(const FitWords& words, const answer::FitAnswer& answer);
std::string fit_report(const FitWords& words, const answer::FitAnswer& answer,
                       const Screen& screen);

}  // namespace spillway::reports
