#pragma once

#include "explore/outcome/outcomes.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace spillway::explore {

/// What the time of a simulation grows with.
struct RunSize {
  std::uint64_t blocks = 1;         ///< of the model
  std::uint64_t micro_batches = 1;  ///< of a step
  std::uint64_t steps = 1;          ///< warm-up included

  std::uint64_t passes() const { return blocks * micro_batches; }
};

RunSize size_of(const description::Scenario& scenario);

/// The scenario with what of `size` is smaller than its own. Memories shrink as the blocks do, so
/// that what did not fit still does not, and what was planned is.
description::Scenario with_size(description::Scenario scenario, const RunSize& size);

/// How long an answer about one scenario will take.
struct Duration {
  double seconds = 0;
  bool at_least = false;  ///< the part itself took longer than there was time for
  RunSize whole, part;    ///< what was measured
};

/// Whether an answer may take so long that it pays to find out.
bool may_take_long(const description::Scenario& scenario);

/// Measured on smaller ones, each twice as large as the one before, until one takes long enough to
/// be measured: by how the last two grew.
///   ask     answers about a scenario, with all that the answer has; gives the seconds that took,
///           nothing where it failed or there was no time for it
///   Result  nothing where the scenario cannot be made smaller, or `ask` failed at once
std::optional<Duration> duration_of(
    const description::Scenario& scenario,
    const std::function<std::optional<double>(const description::Scenario&)>& ask);

/// "about 12 min for 3 steps of 100000 micro-batches through 3 blocks, as 2 steps of 341
/// micro-batches through 3 blocks took".
std::string duration_words(const Duration& duration);

/// duration_words() of a simulation alone, measured in children; "" where it is short, and where it
/// is not known.
std::string words_if_long(const Backend& backend, const description::Scenario& scenario);

/// From how long on people want to know, whom twice the time would not surprise, and the most that
/// finding out may take.
inline constexpr double long_s = 5, most_spent_s = 10;

}  // namespace spillway::explore
