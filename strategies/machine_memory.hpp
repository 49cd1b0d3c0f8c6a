#pragma once

#include "strategies/machine.hpp"

namespace spillway::strategies {

/// Capacity of one tier and the event that some of it came back.
struct Machine::MemoryTier {
  Semaphore capacity;
  Event room;
  MemoryTier(Scheduler& scheduler, std::uint64_t bytes)
      : capacity(scheduler, bytes), room(scheduler) {}
};

/// An allocation that waits its turn; lives in its coroutine's frame.
struct Machine::Waiting : Waiter {
  std::uint32_t tier;
  Rank rank;
  Purpose purpose;
  Bytes bytes;
  const Semaphore::Awaiter* turn;
  std::uint64_t kept_class = 0;  ///< bytes of the caching allocator's class that would do; 0: none
  Waiting(std::uint32_t where, Rank who, Purpose what, Bytes size, const Semaphore::Awaiter& its)
      : tier(where), rank(who), purpose(what), bytes(size), turn(&its) {}
};

}  // namespace spillway::strategies
