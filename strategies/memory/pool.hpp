#pragma once

#include "strategies/machine.hpp"

#include <deque>

namespace spillway::strategies {

/// Equal buffers, allocated once, lent first come first served. A lent buffer comes back by itself
/// when the last reference to it is gone: the strategy's and those of operations in flight.
class BufferPool : public BlockOwner {
 public:
  /// Takes `count` buffers of `bytes` each from the machine, now.
  ///   Throws  OutOfMemory
  BufferPool(Machine& machine, TierId tier, Rank rank, std::uint64_t count, Bytes bytes,
             Purpose purpose, std::optional<Rounding> rounding = {});
  BufferPool(const BufferPool&) = delete;
  ~BufferPool();

  /// Waits for a free buffer. Its size is what was really allocated, rounding included.
  Task<Buffer> take();
  std::uint64_t count() const { return slots_.size(); }
  std::uint64_t buffer_bytes() const { return buffer_bytes_; }

 private:
  struct Slot {
    Buffer memory;
    Block lent;
    Semaphore::Lock lock;
  };
  void take_back(Block& block) override;

  std::uint64_t buffer_bytes_ = 0;
  Semaphore free_count_;
  std::deque<Slot> slots_;
  std::vector<Slot*> free_;
};

}  // namespace spillway::strategies
