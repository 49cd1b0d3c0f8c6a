#pragma once

#include "reports/answer/fit.hpp"
#include "reports/answer/simulation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::gui {

using Setting = answer::Setting;
using Step = answer::WhatIf;

/// A change that makes it fit, or faster: words and overrides of the scenario.
struct Change {
  std::string words;     ///< of the change alone
  std::string sentence;  ///< what it is for, and what it brings, as reports say it
  std::vector<std::string> overrides;
  std::optional<double> step_time_s;  ///< of a simulated one
};

/// The answer to a question, as far as it is known. A bound comes first, then the events.
struct Answer {
  enum class State : unsigned char { nothing, asked, bound, exact, failed };
  State state = State::nothing;
  std::optional<result::Result> result;
  bool stale = false;  ///< of an earlier question, while the next is worked out
  /// The system of the way that an earlier search found, by which this question is answered while
  /// its own search runs; "": of its own.
  std::string way_before;
  std::string failure;    ///< why there is no result
  text::Text why_not;     ///< of a search in which nothing fits
  std::string too_small;  ///< of a bound: the tier that cannot hold it
  std::vector<Setting> settings;
  std::vector<Step> steps;      ///< the shortest step first
  std::vector<Change> changes;  ///< remedies, or what helps most
  std::string way;  ///< of a search: what its system swaps, "lohan + pinned exact"; else empty
  std::optional<result::Result> other;  ///< of a search: the fastest, where nobody can run it today
  std::vector<text::Text> notes;

  bool approximate() const { return state == State::bound || stale || !way_before.empty(); }
  bool fits() const { return result && result->feasible(); }
  /// Says that it does not fit, for the question as it is now or for the one before.
  bool refuses() const;
  /// Says so of another question, or of a way that was found for another one.
  bool refuses_another() const;
};

/// What an answer still says once the next question is asked: the result, marked as stale, until
/// the first word of the next one. What would help and what was noted was of the question before.
void make_stale(Answer& answer);

/// Puts what a line of a worker says into `answer`: result, settings, what_if, remedy. What is not
/// there stays as it is; what cannot be read becomes the failure.
void take_answer(const nlohmann::json& line, Answer& answer);

/// The answer of `spillway fit --json`.
Answer answer_of_fit(const nlohmann::json& fit);

/// The answer of `spillway simulate --json`.
Answer answer_of_simulation(const nlohmann::json& result);

/// A line for each complaint of an "errors": "path: message; hint".
std::string words_of_errors(const nlohmann::json& errors);

/// Puts the `bound` of a worker's line over the time and price of an earlier result: no run takes
/// less of either.
///   Result  false where the line says nothing, or there is no earlier result to put it over
bool take_bound(const nlohmann::json& line, Answer& answer);

}  // namespace spillway::gui
