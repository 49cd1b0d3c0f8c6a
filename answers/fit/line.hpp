#pragma once

#include "answers/fit/candidates.hpp"

#include <cstdint>

namespace spillway::answers {

/// Micro-batches between two: the smaller one has room, the larger one has not. Above the largest
/// of a line, where that has room, the larger one is as large as anything that is looked at.
struct Gap {
  std::uint64_t room = 0, none = 0;
  double at_room = 0;  ///< tokens a second of the smaller one, or no schedule trains more in it
  /// Of the one in the middle, as Candidate has it; absent: not asked yet.
  std::optional<double> most_of_middle;

  bool open() const { return none > room + 1; }
  std::uint64_t middle() const { return room + (none - room) / 2; }
  /// A step takes no less time with more samples: none of those between trains more.
  double most_tokens_per_s() const;
  /// Whether the one in the middle is known to be worth a simulation.
  bool promises(double least) const;
  void take_room(std::uint64_t batch, double tokens_per_s);
  void take_none(std::uint64_t batch);
};

/// The candidates of one way, from the largest micro-batch down.
struct Line {
  std::vector<Candidate> candidates;
  std::size_t at = 0;
  Gap gap;                       ///< above the first that has room
  std::optional<bool> has_room;  ///< whether one of them has; absent: nobody knows yet
  bool gpu_has_room = false;     ///< for the smallest of them, of which other memory is too small

  bool runnable() const { return candidates.front().runnable; }
  bool plans() const { return candidates.front().plans; }
  bool open() const { return at < candidates.size(); }
  Candidate& now() { return candidates[at]; }
  const Candidate& now() const { return candidates[at]; }
  void close() { at = candidates.size(); }
  /// The one at hand has no room; where it is the smallest, none has.
  void pass_by() {
    if (++at == candidates.size()) has_room = false;
  }
  /// The candidate at hand has room and trains so many tokens a second, or no more: none of the
  /// smaller ones is tried, and what is between it and the next larger one is left, or above it
  /// where it is the largest.
  void close_with(double tokens_per_s);
  /// Nothing that it would change is missing.
  void pass_all_by() {
    has_room = false;
    close();
  }
  /// Another way is trained in its place: none of its micro-batches is tried.
  void give_way() {
    has_room = true;
    gap = {};
    close();
  }
  /// The one in the middle of the gap.
  Candidate middle() const;
};

/// What can be faster than `least` tokens a second by so little is not simulated, and what is
/// faster by so little takes nothing's place.
bool worth_simulating(double tokens_per_s, double least);

/// Bounds from the candidate at hand down to the first that is not ruled out for its memory. What
/// is ruled out rules out all larger micro-batches.
std::vector<double> next_bounds(const Line& line);

/// The gap of a line, closed from both sides by bounds alone until the one in the middle promises
/// to be faster than `least`, or nothing is left that may be.
///   bounded  grows by the bounds that were computed
Gap narrowed(const Line& line, double least, std::uint64_t& bounded);

}  // namespace spillway::answers
