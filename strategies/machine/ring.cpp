#include "strategies/machine/ring.hpp"

namespace spillway::strategies {

BufferRing::BufferRing(Machine& machine, TierId tier, Rank rank, std::uint64_t count, Bytes bytes,
                       Purpose purpose)
    : turn_(machine.scheduler(), 1) {
  ENSURE(count > 0, "a ring without buffers");
  for (std::uint64_t slot = 0; slot < count; ++slot)
    slots_.push_back(std::make_unique<BufferPool>(machine, tier, rank, 1, bytes, purpose));
}

Task<Buffer> BufferRing::take() {
  const Semaphore::Lock turn = co_await turn_.acquire();
  Buffer buffer = co_await slots_[next_]->take();
  next_ = (next_ + 1) % slots_.size();
  co_return buffer;
}

}  // namespace spillway::strategies
