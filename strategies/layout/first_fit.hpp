#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace spillway::strategies {

/// Where tensors of one pass lie: first fit by lifetime.
class FirstFit {
 public:
  std::uint64_t find(std::uint64_t bytes, std::uint32_t from, std::uint32_t to) const {
    std::vector<Slot> busy;
    for (const Slot& slot : slots_)
      if (slot.from <= to && from <= slot.to) busy.push_back(slot);
    std::sort(busy.begin(), busy.end(),
              [](const Slot& a, const Slot& b) { return a.offset < b.offset; });
    std::uint64_t offset = 0;
    for (const Slot& slot : busy) {
      if (offset + bytes <= slot.offset) break;
      offset = std::max(offset, slot.offset + slot.bytes);
    }
    return offset;
  }
  std::uint64_t place(std::uint64_t bytes, std::uint32_t from, std::uint32_t to) {
    const std::uint64_t offset = find(bytes, from, to);
    slots_.push_back({offset, bytes, from, to});
    end_ = std::max(end_, offset + bytes);
    return offset;
  }
  std::uint64_t end() const { return end_; }

 private:
  struct Slot {
    std::uint64_t offset, bytes;
    std::uint32_t from, to;
  };
  std::vector<Slot> slots_;
  std::uint64_t end_ = 0;
};

}  // namespace spillway::strategies
