#include "strategies/machine/machine_memory.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {
std::string in_words(const result::Infeasible& request) {
  return "out of memory on " + request.tier + ", rank " + std::to_string(request.rank) + ": " +
         request.purpose + " asks for " + std::to_string(request.asked_bytes) + " B in " +
         request.phase + ", " + std::to_string(request.free_bytes) + " B are free";
}

/// Only pinned memory is kept: the pageable and the GPU allocator give back what they round.
bool caches(TierId tier, Rounding rounding, Bytes bytes) {
  return tier == TierId::pinned && rounding == Rounding::power_of_two && bytes.value() > 0;
}
}  // namespace

OutOfMemory::OutOfMemory(result::Infeasible request)
    : std::runtime_error(in_words(request)), request_(std::move(request)) {}

OutOfMemory::OutOfMemory(result::Infeasible request, const std::string& why)
    : std::runtime_error(in_words(request) + " (" + why + ")"), request_(std::move(request)) {}

Machine::MemoryTier& Machine::memory(TierId tier, Rank rank) const {
  ENSURE(tier != TierId::storage, "storage is reserved with store()");
  ENSURE(rank.index < setup_.topology.ranks, "no such rank");
  const bool own = tier == TierId::gpu && !setup_.topology.one_memory;
  return *tiers_[own ? gpu_tier(rank) : host_tier(rank)];
}

Rounding Machine::rounding_of(TierId tier, std::optional<Rounding> asked) const {
  if (asked) return *asked;
  switch (tier) {
    case TierId::gpu:
      return setup_.gpu;
    case TierId::pinned:
      return setup_.pinned;
    case TierId::pageable:
      return Rounding::none;
    case TierId::storage:
      return Rounding::sector;
  }
  return Rounding::none;
}

result::Infeasible Machine::request_of(std::uint32_t tier, Rank rank, Purpose purpose,
                                       Bytes bytes) const {
  const bool gpu = tier < setup_.topology.ranks;
  const bool shared = gpu && setup_.topology.one_memory;
  const auto& capacity = tiers_[shared ? host_tier(rank) : tier]->capacity;
  std::string name = gpu ? "gpu" : "host", storage;
  if (const std::uint32_t first = storage_tier(StorageId{0}); tier >= first) {
    const StorageInfo& info = setup_.topology.storages[tier - first];
    name = info.wears ? "ssd" : "remote";
    storage = info.name;
  }
  return {name,
          rank.index,
          std::string(to_string(purpose)),
          std::string(to_string(recorder_.phase(rank))),
          bytes.value(),
          capacity.free(),
          capacity.capacity(),
          storage};
}

void Machine::out_of_memory(std::uint32_t tier, Rank rank, Purpose purpose, Bytes bytes) {
  throw OutOfMemory(request_of(tier, rank, purpose, bytes));
}

/// Whether a request that the tier cannot give is one to grow for; notes the first.
///   Throws  OutOfMemory when tiers do not grow
bool Machine::grows_for(std::uint32_t tier, Rank rank, Purpose purpose, Bytes bytes) {
  if (!grows_) out_of_memory(tier, rank, purpose, bytes);
  if (!shortage_) shortage_ = request_of(tier, rank, purpose, bytes);
  return true;
}

void Machine::require(TierId tier, Rank rank, Bytes capacity, const result::Infeasible& request) {
  if (!grows_) throw OutOfMemory(request);
  if (!shortage_) shortage_ = request;
  if (tier != TierId::storage) memory(tier, rank).capacity.grow_to(capacity.value());
}

std::uint64_t Machine::capacity(std::uint32_t tier) const {
  return ledger_.capacity(tier) == 0 ? 0 : tiers_[tier]->capacity.capacity();
}

std::optional<Buffer> Machine::from_cache(TierId tier, Rank rank, Bytes bytes, Purpose purpose,
                                          Rounding rounding) {
  if (!caches(tier, rounding, bytes)) return std::nullopt;
  Block* block = pinned_cache_[rank.index].take(rounded(rounding, bytes.value()));
  if (!block) return std::nullopt;
  block->asked = bytes.value();
  block->purpose = purpose;
  ledger_.recharge(block->ledger_entry,
                   {host_tier(rank), rank, purpose, block->asked, block->charged,
                    tier == TierId::pinned, recorder_.phase(rank)},
                   now_s());
  return Buffer(BlockRef(block));
}

Block* Machine::fresh_block() {
  if (spare_blocks_.empty()) spare_blocks_.push_back(std::make_unique<Block>());
  Block* block = spare_blocks_.back().release();
  spare_blocks_.pop_back();
  block->owner = this;
  return block;
}

Buffer Machine::finish_allocation(TierId tier, Rank rank, Bytes bytes, Purpose purpose,
                                  Rounding rounding, Semaphore::Lock capacity) {
  Block* block = fresh_block();
  BlockRef reference(block);
  block->tier = tier;
  block->rank = rank;
  block->purpose = purpose;
  block->asked = bytes.value();
  block->charged = capacity.amount();
  block->keeps = caches(tier, rounding, bytes);
  block->capacity = std::move(capacity);
  block->ledger_entry =
      ledger_.add({tier == TierId::gpu ? gpu_tier(rank) : host_tier(rank), rank, purpose,
                   block->asked, block->charged, tier == TierId::pinned, recorder_.phase(rank)},
                  now_s());
  block->data = provide(*block);
  return Buffer(std::move(reference));
}

Task<std::vector<Buffer>> Machine::allocate(TierId tier, Rank rank, std::vector<Wanted> wanted) {
  const Rounding rounding = rounding_of(tier, {});
  std::vector<Buffer> given(wanted.size());
  std::uint64_t charged = 0, asked = 0;
  std::size_t missing = 0, largest = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (auto kept = from_cache(tier, rank, wanted[i].bytes, wanted[i].purpose, rounding)) {
      given[i] = std::move(*kept);
      continue;
    }
    if (missing++ == 0 || wanted[i].bytes > wanted[largest].bytes) largest = i;
    charged += rounded(rounding, wanted[i].bytes.value());
    asked += wanted[i].bytes.value();
  }
  if (missing == 0) co_return given;
  const std::uint32_t index = tier == TierId::gpu ? gpu_tier(rank) : host_tier(rank);
  const std::uint64_t one = missing == 1 && caches(tier, rounding, wanted[largest].bytes);
  Semaphore::Lock room = co_await wait_for(memory(tier, rank), index, rank, Bytes(asked),
                                           wanted[largest].purpose, charged, one ? charged : 0);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!given[i])
      given[i] = finish_allocation(tier, rank, wanted[i].bytes, wanted[i].purpose, rounding,
                                   room.split(rounded(rounding, wanted[i].bytes.value())));
  co_return given;
}

Buffer Machine::allocate_now(TierId tier, Rank rank, Bytes bytes, Purpose purpose,
                             std::optional<Rounding> asked) {
  const Rounding rounding = rounding_of(tier, asked);
  if (auto cached = from_cache(tier, rank, bytes, purpose, rounding)) return std::move(*cached);
  const std::uint64_t charged = rounded(rounding, bytes.value());
  const std::uint32_t index = tier == TierId::gpu ? gpu_tier(rank) : host_tier(rank);
  Semaphore::Lock capacity = memory(tier, rank).capacity.try_overtake(charged);
  if (!capacity && grows_for(index, rank, purpose, bytes))
    capacity = memory(tier, rank).capacity.overtake(charged);
  return finish_allocation(tier, rank, bytes, purpose, rounding, std::move(capacity));
}

std::optional<Buffer> Machine::try_allocate(TierId tier, Rank rank, Bytes bytes, Purpose purpose,
                                            std::optional<Rounding> asked) {
  const Rounding rounding = rounding_of(tier, asked);
  if (auto cached = from_cache(tier, rank, bytes, purpose, rounding)) return cached;
  Semaphore::Lock capacity =
      memory(tier, rank).capacity.try_acquire(rounded(rounding, bytes.value()));
  if (!capacity) {
    if (tier != TierId::gpu) one_may_wait();
    return std::nullopt;
  }
  return finish_allocation(tier, rank, bytes, purpose, rounding, std::move(capacity));
}

/// Where several share a tier and one of them would find room before the others.
void Machine::one_may_wait() {
  if (setup_.topology.alike > 1) is_unlike();
}

/// Waits its turn for capacity of a tier.
///   index       the tier in the ledger; not `where`, of a GPU that shares the host's memory
///   kept_class  of a block in the allocator's cache that would do; 0: none
Task<Semaphore::Lock> Machine::wait_for(MemoryTier& where, std::uint32_t index, Rank rank,
                                        Bytes bytes, Purpose purpose, std::uint64_t charged,
                                        std::uint64_t kept_class) {
  if (charged > where.capacity.capacity() && grows_for(index, rank, purpose, bytes))
    where.capacity.grow_to(charged);
  Semaphore::Awaiter turn = where.capacity.acquire(charged);
  if (index >= setup_.topology.ranks && charged > where.capacity.free()) one_may_wait();
  Waiting waiting(index, rank, purpose, bytes, turn);
  waiting.kept_class = kept_class;
  waiting_allocations_.push_back(waiting);
  Semaphore::Lock lock = co_await turn;
  waiting.unlink();
  co_return std::move(lock);
}

Task<Stored> Machine::store(StorageId storage, Rank rank, Bytes bytes, Purpose purpose,
                            std::optional<std::uint32_t> drive) {
  ENSURE(storage.index < setup_.topology.storages.size() + setup_.topology.stripes.size(),
         "no such storage");
  ENSURE(!drive || (!setup_.topology.is_stripe(storage) &&
                    *drive < setup_.topology.storages[storage.index].drives),
         "no such drive");
  const std::uint64_t charged = rounded(Rounding::sector, bytes.value());
  BlockRef block(fresh_block());
  block->keeps = false;
  block->tier = TierId::storage;
  block->rank = rank;
  block->storage = storage;
  block->drive = drive;
  block->purpose = purpose;
  block->asked = bytes.value();
  block->charged = charged;
  std::vector<StoragePiece> pieces;
  setup_.topology.each_piece(storage, charged,
                             [&](const StoragePiece& piece) { pieces.push_back(piece); });
  // in the order of the storages, so that two ranks never wait for each other
  for (const StoragePiece& piece : pieces) {
    const std::uint32_t tier = storage_tier(piece.storage);
    Semaphore::Lock lock =
        co_await wait_for(*tiers_[tier], tier, rank, bytes, purpose, piece.bytes, 0);
    // the padding is in the last piece
    const std::uint64_t padding = &piece == &pieces.back() ? charged - bytes.value() : 0;
    const std::uint32_t entry = ledger_.add(
        {tier, rank, purpose, piece.bytes - padding, piece.bytes, false, recorder_.phase(rank)},
        now_s());
    block->pieces.push_back({piece.storage, std::move(lock), entry, {}});
  }
  place(*block.get());
  block->data = provide(*block.get());
  co_return Stored(std::move(block));
}

/// Finds room on the drives that the I/O engine addresses itself.
void Machine::place(Block& block) {
  for (StoredPiece& piece : block.pieces) {
    RawArray* array = raw_arrays_[piece.storage.index].get();
    if (!array) continue;
    if (block.tensor.empty())
      block.tensor = "rank" + std::to_string(block.rank.index) + "." +
                     std::string(to_string(block.purpose)) + "." + std::to_string(next_tensor_++);
    try {
      piece.extents = array->by_rank[block.rank.index].place(block.tensor, piece.capacity.amount(),
                                                             block.drive);
    } catch (const DriveFull& full) {
      result::Infeasible request =
          request_of(storage_tier(piece.storage), block.rank, block.purpose, Bytes(full.asked()));
      request.free_bytes = full.free();
      request.capacity_bytes = full.capacity();
      if (!grows_) throw OutOfMemory(request, full.what());
      if (!shortage_) shortage_ = request;  // and it lies nowhere: only its size matters
      tiers_[storage_tier(piece.storage)]->capacity.grow_to(
          array->drives.drives() * (full.capacity() - full.free() + full.asked()));
    }
  }
}

void Machine::release_extent(Block& block) {
  for (StoredPiece& piece : block.pieces) {
    if (RawArray* array = raw_arrays_[piece.storage.index].get())
      array->by_rank[block.rank.index].forget(block.tensor);
    ledger_.remove(piece.ledger_entry, now_s());
  }
  block.tensor.clear();
  block.pieces.clear();  // and with them the capacity
}

/// True when the first in the queue for host memory asks for exactly such a block.
bool Machine::head_wants(const Block& block) const {
  const std::uint32_t host = host_tier(block.rank);
  if (!tiers_[host]->capacity.has_waiters()) return false;
  const Waiting* head = nullptr;
  waiting_allocations_.each([&](const Waiter& waiter) {
    const auto& waiting = static_cast<const Waiting&>(waiter);
    if (!head && waiting.tier == host && !waiting.turn->granted) head = &waiting;
  });
  return head && head->rank == block.rank && head->kept_class == block.charged;
}

void Machine::take_back(Block& block) {
  block.in_flight.clear();
  recorder_.forget(block);
  // given back for real it goes to the head of the queue at once, by way of the tier's capacity
  if (block.keeps && !head_wants(block)) {
    ledger_.keep(block.ledger_entry);
    return pinned_cache_[block.rank.index].keep(block);
  }
  withdraw(block);
  if (block.tier == TierId::storage) {
    release_extent(block);
  } else {
    ledger_.remove(block.ledger_entry, now_s());
    block.capacity.release();
  }
  block.data = nullptr;
  spare_blocks_.emplace_back(&block);
}

Usage Machine::usage(TierId tier, Rank rank) const {
  const std::uint32_t index = tier == TierId::gpu ? gpu_tier(rank) : host_tier(rank);
  return {ledger_.used(index), ledger_.peak_bytes(index), memory(tier, rank).capacity.free()};
}

Usage Machine::usage(StorageId storage) const {
  Usage all;
  const auto add = [&](StorageId id, double share) {
    const std::uint32_t index = storage_tier(id);
    const double free = static_cast<double>(tiers_[index]->capacity.free()) / share;
    all.used += ledger_.used(index);
    all.peak += ledger_.peak_bytes(index);
    all.free = std::min(all.free, static_cast<std::uint64_t>(free));
  };
  all.free = unlimited_bytes;
  const Topology& topology = setup_.topology;
  if (!topology.is_stripe(storage)) {
    add(storage, 1);
    return all;
  }
  const Stripe& stripe = topology.stripes.at(storage.index - topology.storages.size());
  double before = 0;
  for (std::size_t i = 0; i < stripe.members.size(); ++i) {
    add(stripe.members[i], stripe.ends[i] - before);
    before = stripe.ends[i];
  }
  return all;
}

Semaphore::Lock Machine::leave_free(TierId tier, Rank rank, Bytes bytes) {
  Semaphore::Lock room = memory(tier, rank).capacity.try_overtake(bytes.value());
  const std::uint32_t index = tier == TierId::gpu ? gpu_tier(rank) : host_tier(rank);
  if (!room) out_of_memory(index, rank, Purpose::workspace, bytes);
  return room;
}

}  // namespace spillway::strategies
