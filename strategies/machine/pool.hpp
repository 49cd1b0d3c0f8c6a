#pragma once

#include "strategies/machine/machine.hpp"

namespace spillway::strategies {

/// Equal buffers, allocated once, lent first come first served. A lent buffer comes back by itself
/// when the last reference to it is gone: the strategy's and those of operations in flight, which
/// may outlive the pool.
class BufferPool {
 public:
  /// Takes `count` buffers of `bytes` each from the machine, now.
  ///   Throws  OutOfMemory
  BufferPool(Machine& machine, TierId tier, Rank rank, std::uint64_t count, Bytes bytes,
             Purpose purpose, std::optional<Rounding> rounding = {});
  BufferPool(const BufferPool&) = delete;
  ~BufferPool();

  /// Waits for a free buffer. Its size is what was really allocated, rounding included.
  Task<Buffer> take();
  /// Waits for `count` free buffers, and takes them together: two who want several cannot block
  /// each other halfway.
  Task<std::vector<Buffer>> take(std::uint64_t count);
  std::uint64_t size() const;

 private:
  class Lender;
  Lender* lender_;  ///< deletes itself when the pool is gone and every buffer is back
};

}  // namespace spillway::strategies
