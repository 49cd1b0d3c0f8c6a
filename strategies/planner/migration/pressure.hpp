#pragma once

#include <cstdint>
#include <vector>

namespace spillway::strategies::planner {

/// Bytes over (or, negative, under) a capacity in each slot of the circle, as a segment tree:
/// intervals are added to and asked in O(log slots).
class PressureTree {
 public:
  /// excess  by slot, bytes in use less the capacity
  explicit PressureTree(const std::vector<std::int64_t>& excess);

  /// Slots [first, end) of the circle; `end` may pass the number of slots once.
  void add(std::uint32_t first, std::uint32_t end, std::int64_t bytes);
  std::int64_t max() const { return nodes_[1].max; }
  /// No slot of [first, end) exceeds the capacity by more than `limit`.
  bool at_most(std::uint32_t first, std::uint32_t end, std::int64_t limit) const;
  std::int64_t at(std::uint32_t slot) const;

 private:
  struct Node {
    std::int64_t max = 0, add = 0;
  };
  struct Span {
    std::uint32_t first, end;
    std::uint32_t middle() const { return first + (end - first + 1) / 2; }
    bool misses(Span part) const { return part.end <= first || end <= part.first; }
    bool lies_in(Span part) const { return part.first <= first && end <= part.end; }
  };

  static std::uint32_t child(std::uint32_t node, Span& span, std::uint32_t slot);
  void add_to_one(std::uint32_t slot, std::int64_t bytes);
  void build(std::uint32_t node, Span span, const std::vector<std::int64_t>& excess);
  void apply(std::uint32_t node, std::int64_t bytes);
  void add(std::uint32_t node, Span span, Span part, std::int64_t bytes);
  bool at_most(std::uint32_t node, Span span, Span part, std::int64_t limit) const;

  std::uint32_t slots_;
  std::vector<Node> nodes_;  ///< node 1 is the root; children of n: 2n, 2n + 1
};

}  // namespace spillway::strategies::planner
