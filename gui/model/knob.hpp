#pragma once

#include "gui/model/question.hpp"

#include <span>

namespace spillway::gui {

/// A number of the question that people drag, and the values that a slider of it steps through.
struct Knob {
  const char* field;           ///< changes of it while it is dragged are one: "memory"
  const char* name;            ///< "Host memory"
  std::span<const int> steps;  ///< ascending
  bool more_helps;             ///< to fit
  bool both_ways = false;      ///< less may help as well
  bool of_box = false;         ///< a number of the box of parts
  bool searched = false;       ///< a search for the best way chooses it
  std::uint64_t (*get)(const Question& question) = nullptr;
  void (*set)(Question& question, std::uint64_t value) = nullptr;
  std::string (*words)(std::uint64_t value) = nullptr;  ///< "96 GiB"

  /// Whether the question leaves it to people.
  bool open_in(const Question& question) const;
  /// The nearest of the steps to `value`, by ratio.
  int nearest(std::uint64_t value) const;
  /// The next of the steps above or below `value`; the last where there is none.
  int beside(std::uint64_t value, bool above) const;
};

std::span<const Knob> knobs();

/// The knob of that field.
const Knob& knob(const char* field);

}  // namespace spillway::gui
