#include "sim/sim_machine.hpp"

#include <algorithm>

/// Reads and writes of an engine without O_DIRECT.
namespace spillway::sim {

using strategies::OperationKind;
using strategies::Rank;

namespace {
/// What a flush writes at once.
constexpr double flush_bytes = 128 << 20;
}  // namespace

double SimMachine::room_for_pages(Rank rank) const {
  return static_cast<double>(usage(strategies::TierId::pageable, rank).free);
}

void SimMachine::withdraw(strategies::Block& block) {
  if (block.tier != strategies::TierId::storage) return;
  for (PageCache& pages : pages_) pages.forget(&block);
}

/// One thread copies all of it; what a read does not find comes from storage meanwhile, ahead of
/// the thread. What is written lies in the cache first.
void SimMachine::start_buffered(SimOperation& operation) {
  PageCache& pages = pages_[topology().node_of(operation.rank)];
  const strategies::View& range = operation.operands[1].view;
  const void* const file = range.block.get();
  const double room = room_for_pages(operation.rank), bytes = static_cast<double>(operation.bytes);
  double latency = 0;
  if (operation.kind == OperationKind::read) {
    const double missing = bytes - pages.read(file, range.offset, operation.bytes, room);
    for (strategies::StoragePiece piece : operation.pieces) {
      piece.bytes = static_cast<std::uint64_t>(static_cast<double>(piece.bytes) * missing / bytes);
      if (piece.bytes > 0) latency = std::max(latency, plan_piece(operation, piece));
    }
  } else {
    std::vector<StorageBytes> parts;
    for (const strategies::StoragePiece& piece : operation.pieces)
      parts.push_back({entry_of(piece.storage), static_cast<double>(piece.bytes)});
    const double over = pages.write(file, range.offset, operation.bytes, parts, room);
    if (over > 0) operation.owes = pages.written_back() + over;
  }
  operation.planned.push_back({platform_.cached_copy(operation.rank), 2 * bytes});
  transfer_after(operation, latency);
}

/// Gives each storage of a node that is idle what is due to it, and lets go who waited for that.
void SimMachine::write_back(std::uint32_t node) {
  const Rank rank{node * topology().ranks_per_node};
  PageCache& pages = pages_[node];
  for (std::uint32_t storage = 0; storage < flushes_[node].size(); ++storage) {
    std::unique_ptr<SimOperation>& flush = flushes_[node][storage];
    if (!flush) flush = std::make_unique<SimOperation>();
    if (flush->flush) continue;
    const double bytes = pages.next(storage, flush_bytes, room_for_pages(rank));
    if (bytes < 1) continue;
    flush->flush = true;
    flush->kind = OperationKind::write;
    flush->rank = rank;
    flush->bytes = static_cast<std::uint64_t>(bytes);
    flush->number = (std::uint64_t{1} << 62) + flushed_++;
    const auto of_node = static_cast<std::uint32_t>(node * flushes_[node].size());
    plan_piece(*flush, {strategies::StorageId{of_node + storage}, flush->bytes});
    transfer_after(*flush, 0);
  }
  const auto& all = flushes_[node];
  const bool idle =
      std::none_of(all.begin(), all.end(), [](const auto& flush) { return flush && flush->flush; });
  std::erase_if(held_up_, [&](SimOperation* operation) {
    if (topology().node_of(operation->rank) != node) return false;
    if (!idle && operation->owes > pages.written_back() + 1) return false;
    operation->owes = 0;
    ended_.push_back(operation);
    return true;
  });
}

void SimMachine::written_back(SimOperation& flush) {
  const std::uint32_t node = topology().node_of(flush.rank);
  const auto storage = static_cast<std::uint32_t>(
      std::find_if(flushes_[node].begin(), flushes_[node].end(),
                   [&](const auto& each) { return each.get() == &flush; }) -
      flushes_[node].begin());
  take_off(flush);
  flush.flush = false;
  pages_[node].written(storage, static_cast<double>(flush.bytes));
  write_back(node);
}

/// A write that ends gives the cache more to write, and waits where that is too much.
bool SimMachine::must_wait(SimOperation& operation) {
  if (pages_.empty() || operation.kind != OperationKind::write) return false;
  const std::uint32_t node = topology().node_of(operation.rank);
  const bool owes = operation.owes > pages_[node].written_back() + 1;
  if (owes)
    held_up_.push_back(&operation);
  else
    operation.owes = 0;
  write_back(node);
  return owes;
}

}  // namespace spillway::sim
