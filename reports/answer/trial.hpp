#pragma once

#include "reports/result/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::answer {

/// One of several answers to a question, and what came of it.
struct Trial {
  std::string words;                     ///< "micro-batch 8"
  std::vector<std::string> overrides;    ///< "path=value"
  std::optional<result::Result> result;  ///< of what could be run, whether it fits or not
  text::Text reason;                     ///< why it does not fit or was not run; "" when it fits
  bool ruled_out = false;                ///< by its bound: it was not simulated
  bool refused = false;                  ///< its values contradict each other
  bool not_tried = false;                ///< the backend's Watch ended the question before
  /// The simulation ended in an error of ours or of the machine, or took too long: whether it fits
  /// is not known.
  bool unanswered = false;
  /// Its bound, where one was computed.
  std::optional<double> most_tokens_per_s = std::nullopt;
  /// What every step holds, of what the memory has that is too small for it; not in to_json.
  std::optional<double> times_too_large = std::nullopt;

  bool fits() const { return result && result->feasible(); }
};

/// How trials were answered.
struct TrialCounts {
  std::uint64_t bounded = 0, ruled_out = 0, simulated = 0, not_tried = 0;
  std::uint64_t unanswered = 0;  ///< of `simulated`, those that could not be done

  /// Of what nobody knows whether it is an answer.
  std::uint64_t unknown() const { return not_tried + unanswered; }
};

/// The trial that fits and trains most tokens a second; nullptr when none fits.
const Trial* fastest(const std::vector<Trial>& trials);

/// How sure an answer is.
struct Certainty {
  /// The machine's numbers that nobody states, apart from those that were chosen.
  std::uint64_t assumed = 0;
  /// Whom `spillway machine` says which: a shipped name, or the file that was named; else "FILE".
  std::string machine;
  /// What was assumed of the trainer's loss and kernels, and how to ask for others; empty: a
  /// scenario states them.
  text::Text trainer;
};

/// {"words", "set", "reason", "ruled_out", "refused", "not_tried", "unanswered",
/// "most_tokens_per_s", "result"}.
void to_json(nlohmann::json& json, const Trial& trial);
void from_json(const nlohmann::json& json, Trial& trial);
void to_json(nlohmann::json& json, const TrialCounts& counts);
void from_json(const nlohmann::json& json, TrialCounts& counts);
void to_json(nlohmann::json& json, const Certainty& certainty);
void from_json(const nlohmann::json& json, Certainty& certainty);

}  // namespace spillway::answer
