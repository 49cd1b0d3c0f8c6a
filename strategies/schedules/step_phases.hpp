#pragma once

#include "strategies/machine/machine.hpp"

#include <optional>

namespace spillway::strategies {

/// The phases of one rank's steps. Pipeline stages interleave passes differently: they enter each
/// phase once a step, in its order, so that a node can leave it with its last rank.
class StepPhases {
 public:
  StepPhases(Machine& machine, Rank rank, std::uint64_t stages)
      : machine_(machine), rank_(rank), stages_(stages) {}

  void begin_step() { last_.reset(); }
  /// What follows belongs to `phase`, where the step may enter it.
  void enter(result::Phase phase) {
    if (last_ && (phase == *last_ || (stages_ > 1 && phase < *last_))) return;
    last_ = phase;
    machine_.enter(rank_, phase);
  }

 private:
  Machine& machine_;
  Rank rank_;
  std::uint64_t stages_;
  std::optional<result::Phase> last_;  ///< entered last in this step
};

}  // namespace spillway::strategies
