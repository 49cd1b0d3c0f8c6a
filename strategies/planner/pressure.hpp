#pragma once

#include <cstdint>
#include <vector>

namespace spillway::strategies::planner {

/// Sums of bytes x time pass 64 bits.
__extension__ typedef __int128 ByteTime;

/// Bytes over (or, negative, under) a capacity in each slot of the circle, as a segment tree:
/// intervals are added to and asked in O(log slots).
class PressureTree {
 public:
  /// excess  by slot, bytes in use less the capacity
  /// ticks   by slot, its length in picoseconds
  PressureTree(const std::vector<std::int64_t>& excess, const std::vector<std::int64_t>& ticks);

  /// Slots [first, end) of the circle; `end` may pass the number of slots once.
  void add(std::uint32_t first, std::uint32_t end, std::int64_t bytes);
  std::int64_t max(std::uint32_t first, std::uint32_t end) const;
  std::int64_t max() const { return nodes_[1].max; }
  std::int64_t at(std::uint32_t slot) const { return max(slot, slot + 1); }
  /// Sum over [first, end) of min(bytes, max(0, excess)) x ticks: how much pressure the absence
  /// of `bytes` takes away. Exact; descends only where an interval is partly above and below.
  ByteTime benefit(std::uint32_t first, std::uint32_t end, std::int64_t bytes) const;

 private:
  struct Node {
    std::int64_t min = 0, max = 0, add = 0;
    std::int64_t ticks = 0;
    ByteTime product = 0;  ///< sum of excess x ticks
  };
  struct Span {
    std::uint32_t first, end;
  };

  void build(std::uint32_t node, Span span, const std::vector<std::int64_t>& excess,
             const std::vector<std::int64_t>& ticks);
  void apply(std::uint32_t node, std::int64_t bytes);
  void add(std::uint32_t node, Span span, Span part, std::int64_t bytes);
  std::int64_t max(std::uint32_t node, Span span, Span part) const;
  ByteTime benefit(std::uint32_t node, Span span, Span part, std::int64_t bytes,
                   std::int64_t above) const;

  std::uint32_t slots_;
  std::vector<Node> nodes_;  ///< node 1 is the root; children of n: 2n, 2n + 1
};

}  // namespace spillway::strategies::planner
