#pragma once

#include <cstdint>
#include <vector>

namespace spillway::strategies::planner {

/// Sums of bytes x time pass 64 bits.
__extension__ typedef __int128 ByteTime;

/// What the absence of a tensor takes off the slots of the circle that exceed a capacity, while
/// tensors are sent away one after the other: a segment tree over blocks of slots, of those slots
/// alone that still exceed it.
class Relief {
 public:
  /// excess  by slot, bytes in use less the capacity
  /// ticks   by slot, its length in picoseconds
  Relief(std::vector<std::int64_t> excess, std::vector<std::int64_t> ticks);

  /// `bytes` are away in slots [first, end) of the circle; `end` may pass the number of slots once.
  ///   Cost  O(log slots), and as much once for each slot that no longer exceeds the capacity
  void take(std::uint32_t first, std::uint32_t end, std::int64_t bytes);
  /// Sum over [first, end) of min(bytes, max(0, excess)) x ticks. Exact; looks at single blocks
  /// only where some slots exceed the capacity by more than `bytes` and others by less.
  ByteTime of(std::uint32_t first, std::uint32_t end, std::int64_t bytes) const;

 private:
  /// Of the slots that exceed the capacity; no ticks: of none.
  struct Node {
    std::int64_t min = 0, max = 0;
    std::int64_t add = 0;  ///< what those below do not know of yet
    std::int64_t ticks = 0;
    ByteTime product = 0;  ///< sum of excess x ticks
  };
  struct Span {
    std::uint32_t first, end;
    std::uint32_t middle() const;
    bool is_block() const;
    bool misses(Span part) const { return part.end <= first || end <= part.first; }
    bool lies_in(Span part) const { return part.first <= first && end <= part.end; }
  };

  void build(std::uint32_t node, Span span);
  void join(std::uint32_t node, Span span);
  void join_slots(Node& own, Span span) const;
  void take(std::uint32_t node, Span span, Span part, std::int64_t bytes, std::int64_t above);
  void drop_relieved(std::uint32_t node, Span span, std::int64_t above);
  ByteTime of(std::uint32_t node, Span span, Span part, std::int64_t bytes,
              std::int64_t above) const;

  Span all() const { return {0, static_cast<std::uint32_t>(excess_.size())}; }

  std::vector<std::int64_t> excess_, ticks_;  ///< by slot; no ticks: it exceeds nothing
  std::vector<Node> nodes_;                   ///< node 1 is the root; children of n: 2n, 2n + 1
};

}  // namespace spillway::strategies::planner
