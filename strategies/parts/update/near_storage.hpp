#pragma once

#include "strategies/parts/update/state_store.hpp"

namespace spillway::strategies {

/// One rank's Adam inside the storages that its sub-groups lie on.
///   Updates   a sub-group is one kernel of its storage: states and gradients from their extents,
///             states and new weights to theirs. Kernels of one storage follow each other, those of
///             several run beside each other
///   Back      hosts get the new weights of a sub-group, while the next one is updated: those that
///             do not live on that storage lie in an extent of their own meanwhile
///   Traffic   on the host's link the new weights; inside, states read and written. Gradients and
///             new weights pass the memory of the device
///   Source    Smart-Infinity (HPCA'24)
class NearStorage {
 public:
  NearStorage(Machine& machine, Rank rank, const Job& job, Weights& weights, StateStore& states);

  Task<> init();
  /// Of a sub-group whose states are on storage.
  Op update(std::uint32_t group, const Numbers& numbers);
  /// The new weights of a member are where they live as soon as it is updated.
  bool renews(std::uint32_t group, std::uint32_t weight) const;
  /// The sub-group's new weights, one after the other in whole sectors.
  std::vector<Op> read_back(std::uint32_t group, const Buffer& into, const Op& updated);

 private:
  struct WeightRange {
    const Stored* extent;
    Range range;
  };
  /// Where a member's new weights are written.
  std::vector<WeightRange> places(std::uint32_t group) const;

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Weights& weights_;
  StateStore& states_;
  std::vector<Stored> others_;  ///< by sub-group: new weights that live elsewhere
  std::map<StorageId, Op> last_;
};

}  // namespace spillway::strategies
