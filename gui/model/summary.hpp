#pragma once

#include "gui/model/answer.hpp"
#include "gui/model/text_table.hpp"

#include <QString>

#include <vector>

namespace spillway::gui {

/// A number with what stands under it.
struct Figure {
  QString name, value, below;
  Cell::Mood mood = Cell::Mood::plain;
};

/// The answer in a few words: "Fits: 182 s per step, 359 tokens/s"; with what is known of why not.
QString headline_of(const Answer& answer);
/// Good where it fits, bad where it does not; plain while that is not known of this question.
Cell::Mood mood_of(const Answer& answer);
/// What the headline has no room for: what limits it, who trains so.
QString second_line_of(const Answer& answer);

/// Step, tokens a second, days, cost and life of the drives; each against `base` where there is
/// one.
std::vector<Figure> figures_of(const Answer& answer, const Answer* base);

/// Phases: time, share of the step, and how busy each resource is.
void put_phases(const result::Result& result, TextTable& table);
/// What each next step brings.
void put_steps(const Answer& answer, TextTable& table);
/// Bytes a step by link.
void put_traffic(const result::Result& result, TextTable& table);
/// Every leaf of the results side by side, one column each, and how far the others are from the
/// first.
///   only_different  leaves out rows in which all are equal
void put_differences(const std::vector<std::pair<QString, const result::Result*>>& results,
                     TextTable& table);
/// Why the second is slower or faster than the first, in a sentence.
QString why_slower(const QString& first_name, const result::Result& first,
                   const QString& second_name, const result::Result& second);

}  // namespace spillway::gui
