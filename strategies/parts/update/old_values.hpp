#pragma once

#include "strategies/parts/update/state_store.hpp"

namespace spillway::strategies {

/// What sub-groups of one rank were before an update that may be taken back: copies in pageable
/// host memory of the states, and of the weights there, which the update writes.
class OldValues {
 public:
  OldValues(Machine& machine, Rank rank, const Job& job, const Weights& weights,
            const StateStore& states)
      : machine_(machine), rank_(rank), job_(job), weights_(weights), states_(states) {}

  /// Behind the states' own set-up. Throws  OutOfMemory
  void init();
  /// Copies what an update of the sub-group writes; it may write when all are done.
  std::vector<Op> keep(std::uint32_t group);
  /// Puts back what `keep` copied last; the update has ended.
  std::vector<Op> put_back(std::uint32_t group);

 private:
  std::vector<View> written(std::uint32_t group) const;
  std::vector<Op> copy(std::uint32_t group, bool back);

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  const Weights& weights_;
  const StateStore& states_;
  std::vector<Buffer> kept_;  ///< by sub-group
};

}  // namespace spillway::strategies
