#pragma once

#include "strategies/machine/pool.hpp"

#include <memory>
#include <vector>

namespace spillway::strategies {

/// Equal buffers, allocated once and lent in a fixed order, again and again: who comes first gets
/// the next in the order, and waits for that one even while others are free. A lent buffer comes
/// back by itself, as those of a BufferPool do.
class BufferRing {
 public:
  /// Takes `count` buffers of `bytes` each from the machine, now; one at least.
  ///   Throws  OutOfMemory; InternalError when there is none
  BufferRing(Machine& machine, TierId tier, Rank rank, std::uint64_t count, Bytes bytes,
             Purpose purpose);

  /// Waits for its turn, then for the next buffer of the order.
  Task<Buffer> take();

 private:
  std::vector<std::unique_ptr<BufferPool>> slots_;  ///< in the order; of one buffer each
  std::size_t next_ = 0;
  Semaphore turn_;
};

}  // namespace spillway::strategies
