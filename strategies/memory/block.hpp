#pragma once

#include "reports/result/purpose.hpp"
#include "scenarios/description/units.hpp"
#include "strategies/coroutines/sync.hpp"
#include "strategies/memory/extents.hpp"
#include "strategies/memory/ids.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace spillway::strategies {

using description::Bytes;
using result::Purpose;

struct Operation;
struct Block;

/// Who takes a block back when its last reference is gone: the machine, or a pool.
class BlockOwner {
 public:
  virtual void take_back(Block& block) = 0;

 protected:
  ~BlockOwner() = default;
};

/// An operation that works on part of a block and has not finished.
struct InFlight {
  Operation* operation;
  std::uint64_t first, last;  ///< bytes [first, last)
  bool writes;
};

/// What one storage holds of an extent.
struct StoredPiece {
  StorageId storage;
  Semaphore::Lock capacity;  ///< its share of the storage
  std::uint32_t ledger_entry = 0;
  std::vector<Extent> extents;  ///< on the drives, in order; empty where a file system places it
};

/// One piece of memory, or one extent of a storage. Lives until nobody refers to it: neither a
/// strategy nor an operation in flight.
struct Block {
  BlockOwner* owner = nullptr;
  std::uint32_t references = 0;
  TierId tier = TierId::gpu;
  Rank rank;
  StorageId storage;                   ///< tier storage only: a storage or a stripe
  std::optional<std::uint32_t> drive;  ///< of that storage, which holds it all; none: all do
  Purpose purpose = Purpose::workspace;
  std::uint32_t ledger_entry = 0;
  std::uint64_t asked = 0;
  std::uint64_t charged = 0;
  std::string tensor;               ///< tier storage: its name in the location dictionaries
  std::vector<StoredPiece> pieces;  ///< tier storage: one, or one a member of its stripe
  bool keeps = false;               ///< a caching allocator keeps it when it is freed
  Semaphore::Lock capacity;         ///< its share of the tier
  std::byte* data = nullptr;        ///< null where no real memory stands behind it
  std::vector<InFlight> in_flight;
};

/// Counted reference to a Block; not thread-safe, as a machine has one loop.
class BlockRef {
 public:
  BlockRef() = default;
  explicit BlockRef(Block* block) : block_(block) { retain(); }
  BlockRef(const BlockRef& other) : block_(other.block_) { retain(); }
  BlockRef(BlockRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockRef& operator=(BlockRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BlockRef() {
    if (block_ && --block_->references == 0) block_->owner->take_back(*block_);
  }
  Block* get() const { return block_; }
  Block* operator->() const { return block_; }
  explicit operator bool() const { return block_ != nullptr; }

 private:
  void retain() {
    if (block_) ++block_->references;
  }
  Block* block_ = nullptr;
};

/// Part of a buffer, as an operand.
struct View {
  BlockRef block;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  View() = default;
  View(BlockRef source, std::uint64_t first, std::uint64_t length)
      : block(std::move(source)), offset(first), bytes(length) {}
  explicit operator bool() const { return static_cast<bool>(block); }
  /// Bytes [first, first + length) of this view.
  View part(std::uint64_t first, std::uint64_t length) const {
    return View(block, offset + first, length);
  }
  std::byte* data() const { return block && block->data ? block->data + offset : nullptr; }
};

/// Owns capacity of a tier and, on the real machine, memory.
class [[nodiscard]] Buffer {
 public:
  Buffer() = default;
  explicit Buffer(BlockRef block) : block_(std::move(block)) {}
  Bytes size() const { return Bytes(block_ ? block_->asked : 0); }
  View view() const { return View(block_, 0, block_ ? block_->asked : 0); }
  View view(std::uint64_t offset, std::uint64_t bytes) const { return View(block_, offset, bytes); }
  explicit operator bool() const { return static_cast<bool>(block_); }
  void reset() { block_ = BlockRef(); }

 private:
  BlockRef block_;
};

/// Owns an extent of a storage.
class [[nodiscard]] Stored {
 public:
  Stored() = default;
  explicit Stored(BlockRef block) : block_(std::move(block)) {}
  Bytes size() const { return Bytes(block_ ? block_->asked : 0); }
  const BlockRef& block() const { return block_; }
  explicit operator bool() const { return static_cast<bool>(block_); }

 private:
  BlockRef block_;
};

/// Bytes [offset, offset + bytes) of a Stored.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

}  // namespace spillway::strategies
