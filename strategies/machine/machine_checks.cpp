#include "strategies/machine/machine.hpp"

#include <algorithm>

/// What every machine checks always: operands and conflicts.
namespace spillway::strategies {

namespace {

bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

bool writes(models::Access access) { return access != models::Access::read; }

/// What operands are sorted by, which is moved faster than they are.
struct OperandOrder {
  std::uint64_t ledger_entry = 0;
  const Block* block = nullptr;
  bool reads = false;
  std::uint64_t offset = 0;
  std::size_t index = 0;

  bool operator<(const OperandOrder& other) const {
    if (ledger_entry != other.ledger_entry) return ledger_entry < other.ledger_entry;
    if (block != other.block) return std::less<>()(block, other.block);
    if (reads != other.reads) return other.reads;
    return offset < other.offset;
  }
};

std::vector<OperandOrder> sorted(const std::vector<BoundOperand>& operands) {
  std::vector<OperandOrder> order;
  order.reserve(operands.size());
  for (const BoundOperand& operand : operands) {
    const Block* block = operand.view.block.get();
    order.push_back(
        {block->ledger_entry, block, !writes(operand.access), operand.view.offset, order.size()});
  }
  std::sort(order.begin(), order.end());
  return order;
}

/// Joins operands of one block that touch or overlap and have the same kind of access, so that a
/// batch of kernels leaves a few marks instead of hundreds. Their order, in which their memory is
/// given back, is that of its ledger entries: addresses differ from run to run.
void merge(std::vector<BoundOperand>& operands) {
  if (operands.size() < 8) return;
  std::vector<BoundOperand> merged;
  for (const OperandOrder& at : sorted(operands)) {
    BoundOperand& next = operands[at.index];
    if (!merged.empty()) {
      BoundOperand& last = merged.back();
      const std::uint64_t end = last.view.offset + last.view.bytes;
      if (last.view.block.get() == at.block && writes(last.access) != at.reads &&
          at.offset <= end) {
        last.view.bytes = std::max(end, at.offset + next.view.bytes) - last.view.offset;
        continue;
      }
    }
    merged.push_back(std::move(next));
  }
  operands = std::move(merged);
}

}  // namespace

void Machine::check_operand(const View& view, bool on_gpu, Rank rank) const {
  ENSURE(view, "an operand without a buffer");
  const Block& block = *view.block.get();
  ENSURE((block.tier == TierId::gpu) == on_gpu && block.tier != TierId::storage,
         "an operand lies on the wrong tier: " + std::string(to_string(block.purpose)));
  ENSURE(!on_gpu || block.rank == rank,
         "an operand lies on another rank's GPU: " + std::string(to_string(block.purpose)));
  ENSURE(inside(view.offset, view.bytes, block.asked),
         "a view exceeds its buffer: " + std::string(to_string(block.purpose)));
  ENSURE(view.offset % setup_.topology.view_alignment == 0,
         "a view is not aligned: " + std::string(to_string(block.purpose)));
}

void Machine::check_shards(Collective what, const View& in, const View& out,
                           std::uint64_t members) const {
  if (what == Collective::all_to_all) return;  // parts may differ
  if (what == Collective::ring_shift) {
    ENSURE(in.bytes == out.bytes, "ring_shift: what goes and what comes differ in length");
    return;
  }
  const bool gathers = what == Collective::all_gather;
  const std::uint64_t ways = what == Collective::all_reduce ? 1 : members;
  const std::uint64_t whole = gathers ? out.bytes : in.bytes;
  const std::uint64_t shard = gathers ? in.bytes : out.bytes;
  ENSURE(shard <= whole / ways && whole / ways - shard < setup_.topology.view_alignment,
         std::string(to_string(what)) + ": " + std::to_string(shard) + " B are no shard of " +
             std::to_string(whole) + " B among " + std::to_string(ways));
}

/// A member that works in place would else write over what another one, or it, has yet to read.
void Machine::check_place(Collective what, const View& in, const View& out,
                          std::size_t position) const {
  const bool gathers = what == Collective::all_gather;
  if (what == Collective::all_to_all || what == Collective::ring_shift)
    ENSURE(in.block.get() != out.block.get() || in.offset + in.bytes <= out.offset ||
               out.offset + out.bytes <= in.offset,
           std::string(to_string(what)) + ": what is sent and what comes lie in one place");
  if (!gathers && what != Collective::reduce_scatter) return;
  const View& whole = gathers ? out : in;
  const View& shard = gathers ? in : out;
  if (whole.block.get() != shard.block.get()) return;
  const bool apart =
      shard.offset + shard.bytes <= whole.offset || whole.offset + whole.bytes <= shard.offset;
  ENSURE(apart || shard.offset == whole.offset + position * shard.bytes,
         std::string(to_string(what)) + ": a shard lies in the whole, but not in its own place");
}

void Machine::check_range(const Stored& stored, Range range, const View& view, Rank rank) const {
  ENSURE(stored, "a transfer without an extent");
  ENSURE(view, "a storage transfer without a buffer");
  ENSURE(range.bytes == view.bytes, "a storage range and its view differ in length");
  ENSURE(range.offset % setup_.topology.storage_alignment == 0 &&
             range.bytes % setup_.topology.storage_alignment == 0,
         "a storage range is not aligned");
  ENSURE(inside(range.offset, range.bytes, stored.block()->charged), "a range exceeds its extent");
  const Block& block = *view.block.get();
  ENSURE(block.tier != TierId::gpu || setup_.topology.gpudirect,
         "a storage transfer of GPU memory without GPUDirect");
  check_operand(view, block.tier == TierId::gpu, rank);
}

void Machine::check_extent(const View& view, StorageId storage) const {
  ENSURE(view && view.block->tier == TierId::storage && view.block->storage == storage,
         "an operand of work inside a storage does not lie on it");
  ENSURE(view.offset % setup_.topology.storage_alignment == 0 &&
             view.bytes % setup_.topology.storage_alignment == 0,
         "a storage range is not aligned");
  ENSURE(inside(view.offset, view.bytes, view.block->charged), "a range exceeds its extent");
}

void Machine::check_hazards(Operation& operation) {
  merge(operation.operands);
  const Operation* known = &operation;  // needs no search: itself, or just found to be ordered
  for (const BoundOperand& operand : operation.operands) {
    if (operand.view.bytes == 0) continue;
    Block& block = *operand.view.block.get();
    const std::uint64_t first = operand.view.offset;
    const std::uint64_t last = first + operand.view.bytes;
    const bool writing = writes(operand.access);
    for (const InFlight& other : block.in_flight) {
      if (other.last <= first || last <= other.first || !(writing || other.writes)) continue;
      if (other.operation == known || other.operation == &operation) continue;
      if (!ordered(*other.operation, operation)) conflict(block, *other.operation, operation);
      known = other.operation;
    }
    block.in_flight.push_back({&operation, first, last, writing});
  }
}

/// Two operations already issued: nothing that the caller does now repairs that, so the run ends.
void Machine::conflict(const Block& block, const Operation& one, const Operation& other) {
  try {
    ENSURE(false, "operations in flight conflict on " + std::string(to_string(block.purpose)) +
                      ": #" + std::to_string(one.number) + " and #" + std::to_string(other.number) +
                      " are not ordered");
  } catch (...) {
    scheduler_.fail(std::current_exception());
    throw;
  }
}

/// True when `later` cannot begin before `earlier` is done: the same in-order stream, or a path of
/// dependencies.
bool Machine::ordered(const Operation& earlier, Operation& later) {
  // most conflicts are with what it waits for itself, and that may be all tensors of a layer
  if (earlier.awaited_by == later.number) return true;
  ++search_;
  open_.assign(1, &later);
  while (!open_.empty()) {
    Operation& at = *open_.back();
    open_.pop_back();
    if (&at == &earlier) return true;
    if (at.visited == search_ || at.number < earlier.number) continue;
    if (at.state == Operation::State::done) continue;
    at.visited = search_;
    if (earlier.stream && at.stream == earlier.stream &&
        at.stream_position > earlier.stream_position)
      return true;
    open_.insert(open_.end(), at.dependencies.begin(), at.dependencies.end());
  }
  return false;
}

void Machine::forget_operands(Operation& operation) {
  const Block* cleared = nullptr;
  for (const BoundOperand& operand : operation.operands) {
    Block* block = operand.view.block.get();
    if (!block || block == cleared) continue;
    std::erase_if(block->in_flight,
                  [&](const InFlight& mark) { return mark.operation == &operation; });
    cleared = block;
  }
  operation.operands.clear();
}

}  // namespace spillway::strategies
