#include "strategies/machine/pool.hpp"

#include <algorithm>
#include <deque>

namespace spillway::strategies {

/// Owns the pool's memory as long as the pool or a lent buffer lives.
class BufferPool::Lender final : public BlockOwner {
 public:
  explicit Lender(Scheduler& scheduler, std::uint64_t count) : free_count(scheduler, count) {}
  virtual ~Lender() = default;

  struct Slot {
    struct Lent : Block {
      Slot* slot = nullptr;
    };
    Buffer memory;
    Lent lent;
    Semaphore::Lock lock;
  };

  void add(Buffer memory) {
    Slot& slot = slots.emplace_back();
    const Block& whole = *memory.view().block.get();
    slot.lent.slot = &slot;  // a deque does not move what it holds
    slot.lent.owner = this;
    slot.lent.tier = whole.tier;
    slot.lent.rank = whole.rank;
    slot.lent.purpose = whole.purpose;
    slot.lent.asked = slot.lent.charged = whole.charged;
    slot.lent.data = whole.data;
    slot.memory = std::move(memory);
  }

  Buffer lend(Semaphore::Lock lock) {
    Slot* slot = free.back();
    free.pop_back();
    slot->lock = std::move(lock);
    return Buffer(BlockRef(&slot->lent));
  }

  void take_back(Block& block) override {
    Slot& slot = *static_cast<Slot::Lent&>(block).slot;
    free.push_back(&slot);
    slot.lock.release();
    if (orphaned && free.size() == slots.size()) delete this;
  }

  Semaphore free_count;
  std::deque<Slot> slots;
  std::vector<Slot*> free;
  bool orphaned = false;
};

BufferPool::BufferPool(Machine& machine, TierId tier, Rank rank, std::uint64_t count, Bytes bytes,
                       Purpose purpose, std::optional<Rounding> rounding) {
  auto lender = std::make_unique<Lender>(machine.scheduler(), count);
  for (std::uint64_t i = 0; i < count; ++i)
    lender->add(machine.allocate_now(tier, rank, bytes, purpose, rounding));
  for (auto slot = lender->slots.rbegin(); slot != lender->slots.rend(); ++slot)
    lender->free.push_back(&*slot);
  lender_ = lender.release();
}

BufferPool::~BufferPool() {
  lender_->orphaned = true;
  if (lender_->free.size() == lender_->slots.size()) delete lender_;
}

Task<Buffer> BufferPool::take() {
  Semaphore::Lock lock = co_await lender_->free_count.acquire();
  co_return lender_->lend(std::move(lock));
}

Task<std::vector<Buffer>> BufferPool::take(std::uint64_t count) {
  Semaphore::Lock all = co_await lender_->free_count.acquire(count);
  std::vector<Buffer> buffers;
  for (std::uint64_t i = 0; i < count; ++i) buffers.push_back(lender_->lend(all.split(1)));
  co_return buffers;
}

std::uint64_t BufferPool::size() const { return lender_->slots.size(); }

}  // namespace spillway::strategies
