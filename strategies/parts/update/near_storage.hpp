#pragma once

#include "strategies/parts/update/state_store.hpp"

namespace spillway::strategies {

/// One rank's Adam inside the drives that its sub-groups lie on.
///   Updates   a sub-group is one kernel of its drive: states and gradients from their extents,
///             states and new weights to theirs, one after the other
///   Rounds    drives update a sub-group each; the next round begins when the new weights of this
///             one are where they live
///   Back      new weights lie in an extent of their own on that drive until the host has read
///             them; it writes them where they live
///   Traffic   on the host's link the new weights; inside, states read and written. Gradients and
///             new weights pass the memory of the device
///   Source    Smart-Infinity (HPCA'24); its code, stage3.py, step and cpu_adam.cpp, thread_work
class NearStorage {
 public:
  NearStorage(Machine& machine, Rank rank, const Job& job, StateStore& states);

  Task<> init();
  /// Sub-groups that are updated at once, of those in `order` whose states are on storage.
  std::vector<std::vector<std::uint32_t>> rounds(const std::vector<std::uint32_t>& order) const;
  /// The most sub-groups that a round can have, whatever the order: one on each drive.
  std::uint64_t largest_round() const;
  /// Of a sub-group whose states are on storage.
  Op update(std::uint32_t group, const StepNumbers& numbers);
  /// The sub-group's new weights, one after the other in whole sectors.
  std::vector<Op> read_back(std::uint32_t group, const Buffer& into, const Op& updated);

 private:
  /// Where members' new weights are written, in the sub-group's extent.
  std::vector<Range> places(std::uint32_t group) const;
  std::pair<StorageId, std::uint32_t> drive_of(std::uint32_t group) const;

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  StateStore& states_;
  std::vector<Stored> fresh_;  ///< by sub-group: its new weights
};

}  // namespace spillway::strategies
