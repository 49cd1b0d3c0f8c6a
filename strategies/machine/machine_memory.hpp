#pragma once

#include "strategies/machine/machine.hpp"

namespace spillway::strategies {

/// The capacity of a tier that has no limit.
inline constexpr std::uint64_t unlimited_bytes = ~std::uint64_t{0} >> 1;

/// Capacity of one tier.
struct Machine::MemoryTier {
  Semaphore capacity;
  MemoryTier(Scheduler& scheduler, std::uint64_t bytes) : capacity(scheduler, bytes) {}
};

/// An array without a file system: its free space, and what each rank has put there.
struct Machine::RawArray {
  DriveArray drives;
  std::vector<TensorLocations> by_rank;
  RawArray(const StorageInfo& storage, const Topology& topology)
      : drives(storage.name,
               std::vector<std::uint64_t>(
                   storage.drives, storage.capacity.value() / storage.drives / topology.alike)) {
    for (std::uint32_t rank = 0; rank < topology.ranks; ++rank)
      by_rank.emplace_back(drives, storage.drives);
  }
};

/// An allocation that waits its turn; lives in its coroutine's frame.
struct Machine::Waiting : Waiter {
  std::uint32_t tier;
  Rank rank;
  Purpose purpose;
  Bytes bytes;
  const Semaphore::Awaiter* turn;
  std::uint64_t kept_class = 0;  ///< bytes of the caching allocator's class that would do for all
                                 ///< that is waited for; 0: none
  Waiting(std::uint32_t where, Rank who, Purpose what, Bytes size, const Semaphore::Awaiter& its)
      : tier(where), rank(who), purpose(what), bytes(size), turn(&its) {}
};

}  // namespace spillway::strategies
