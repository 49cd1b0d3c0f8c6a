#pragma once

#include "strategies/memory/block.hpp"

#include <map>

namespace spillway::strategies {

/// The free lists of a caching pinned allocator, one per size class. What lies here stays charged
/// to its last purpose, and keeps its memory.
class BlockCache {
 public:
  ~BlockCache() {
    for (auto& [charged, blocks] : free_)
      for (Block* block : blocks) delete block;
  }
  /// A kept block of exactly this class, or null.
  Block* take(std::uint64_t charged) {
    const auto found = free_.find(charged);
    if (found == free_.end() || found->second.empty()) return nullptr;
    Block* block = found->second.back();
    found->second.pop_back();
    return block;
  }
  void keep(Block& block) { free_[block.charged].push_back(&block); }

 private:
  std::map<std::uint64_t, std::vector<Block*>> free_;
};

}  // namespace spillway::strategies
