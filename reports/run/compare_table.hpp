#pragma once

#include "reports/answer/comparison.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace spillway::reports {

/// One column of a comparison.
struct Contender {
  std::string label;
  const result::Result* result = nullptr;  ///< null: none, as `failure` says; outlives the call
  std::string failure = "";
};

using answer::LeftOut;

/// Which value of a row is best; `not_judged`: a number that may differ for good reasons.
enum class Best : unsigned char { none, lowest, highest, not_judged };

/// What a metric says of one result; `value` decides who is best, `text` who reads the same.
struct Answer {
  double value = 0;
  view::Text text;
  view::Text beside = {};  ///< said after the text
};

/// A row of a comparison.
struct Metric {
  std::string title;
  Best best = Best::none;
  std::function<std::optional<Answer>(const result::Result&)> of;
};

/// All of them, in the order of the table; those of peaks name the capacity that all contenders
/// agree on.
std::vector<Metric> metrics(std::span<const Contender> contenders);

/// Results side by side, one row per metric. "*" marks the best of a row among those that fit: each
/// that reads the same as the best, none where all do or where the best is 0; a line below the
/// table says so. "-" is what a run that does not fit, or a machine without a price, cannot answer;
/// a row that nobody answers is left out. A run without a result has what went wrong in place of
/// whether it fits. Where steps have different numbers of tokens, that is a
/// row, and nothing is best of what is counted by the step.
view::Document compare_document(std::span<const Contender> contenders);
/// The same as text.
std::string compare_table(std::span<const Contender> contenders, const Screen& screen);

/// The same rows as columns, all of them, one line per contender: exact numbers, units in the
/// header. Then those who were left out, their reason in "fits".
void write_compare_csv(std::ostream& out, std::span<const Contender> contenders,
                       std::span<const LeftOut> left_out);

}  // namespace spillway::reports
