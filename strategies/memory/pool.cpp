#include "strategies/memory/pool.hpp"

namespace spillway::strategies {

BufferPool::BufferPool(Machine& machine, TierId tier, Rank rank, std::uint64_t count, Bytes bytes,
                       Purpose purpose, std::optional<Rounding> rounding)
    : free_count_(machine.scheduler(), count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    Slot& slot = slots_.emplace_back();
    slot.memory = machine.allocate_now(tier, rank, bytes, purpose, rounding);
    const View whole = slot.memory.view();
    buffer_bytes_ = whole.block->charged;
    slot.lent.owner = this;
    slot.lent.tier = tier;
    slot.lent.rank = rank;
    slot.lent.purpose = purpose;
    slot.lent.asked = slot.lent.charged = buffer_bytes_;
    slot.lent.data = whole.block->data;
  }
  for (auto slot = slots_.rbegin(); slot != slots_.rend(); ++slot) free_.push_back(&*slot);
}

BufferPool::~BufferPool() = default;

Task<Buffer> BufferPool::take() {
  Semaphore::Lock lock = co_await free_count_.acquire();
  Slot* slot = free_.back();
  free_.pop_back();
  slot->lock = std::move(lock);
  co_return Buffer(BlockRef(&slot->lent));
}

void BufferPool::take_back(Block& block) {
  for (Slot& slot : slots_) {
    if (&slot.lent != &block) continue;
    block.in_flight.clear();
    free_.push_back(&slot);
    slot.lock.release();
    return;
  }
}

}  // namespace spillway::strategies
