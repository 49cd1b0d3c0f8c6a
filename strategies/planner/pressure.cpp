#include "strategies/planner/pressure.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <limits>

namespace spillway::strategies::planner {

namespace {
constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
}

PressureTree::PressureTree(const std::vector<std::int64_t>& excess,
                           const std::vector<std::int64_t>& ticks)
    : slots_(static_cast<std::uint32_t>(excess.size())) {
  ENSURE(slots_ > 0 && ticks.size() == excess.size(), "a pressure of no slots");
  std::size_t leaves = 1;
  while (leaves < excess.size()) leaves *= 2;
  nodes_.resize(2 * leaves);
  build(1, {0, slots_}, excess, ticks);
}

void PressureTree::build(std::uint32_t node, Span span, const std::vector<std::int64_t>& excess,
                         const std::vector<std::int64_t>& ticks) {
  Node& own = nodes_[node];
  if (span.end - span.first == 1) {
    own.min = own.max = excess[span.first];
    own.ticks = ticks[span.first];
    own.product = static_cast<ByteTime>(own.min) * own.ticks;
    return;
  }
  const std::uint32_t middle = span.first + (span.end - span.first + 1) / 2;
  build(2 * node, {span.first, middle}, excess, ticks);
  build(2 * node + 1, {middle, span.end}, excess, ticks);
  const Node &left = nodes_[2 * node], &right = nodes_[2 * node + 1];
  own = {std::min(left.min, right.min), std::max(left.max, right.max), 0, left.ticks + right.ticks,
         left.product + right.product};
}

void PressureTree::apply(std::uint32_t node, std::int64_t bytes) {
  Node& own = nodes_[node];
  own.min += bytes;
  own.max += bytes;
  own.add += bytes;
  own.product += static_cast<ByteTime>(bytes) * own.ticks;
}

// An addition stays at the highest node that it covers whole; who reads below adds it on the way
// down.
void PressureTree::add(std::uint32_t node, Span span, Span part, std::int64_t bytes) {
  if (part.end <= span.first || span.end <= part.first) return;
  if (part.first <= span.first && span.end <= part.end) return apply(node, bytes);
  const std::uint32_t middle = span.first + (span.end - span.first + 1) / 2;
  add(2 * node, {span.first, middle}, part, bytes);
  add(2 * node + 1, {middle, span.end}, part, bytes);
  Node& own = nodes_[node];
  const Node &left = nodes_[2 * node], &right = nodes_[2 * node + 1];
  own.min = std::min(left.min, right.min) + own.add;
  own.max = std::max(left.max, right.max) + own.add;
  own.product = left.product + right.product + static_cast<ByteTime>(own.add) * own.ticks;
}

std::int64_t PressureTree::max(std::uint32_t node, Span span, Span part) const {
  if (part.end <= span.first || span.end <= part.first) return lowest;
  if (part.first <= span.first && span.end <= part.end) return nodes_[node].max;
  const std::uint32_t middle = span.first + (span.end - span.first + 1) / 2;
  const std::int64_t below = std::max(max(2 * node, {span.first, middle}, part),
                                      max(2 * node + 1, {middle, span.end}, part));
  return below == lowest ? lowest : below + nodes_[node].add;
}

ByteTime PressureTree::benefit(std::uint32_t node, Span span, Span part, std::int64_t bytes,
                               std::int64_t above) const {
  if (part.end <= span.first || span.end <= part.first) return 0;
  const Node& own = nodes_[node];
  if (own.max + above <= 0) return 0;
  if (part.first <= span.first && span.end <= part.end) {
    if (own.min + above >= bytes) return static_cast<ByteTime>(bytes) * own.ticks;
    if (own.min + above >= 0 && own.max + above <= bytes)
      return own.product + static_cast<ByteTime>(above) * own.ticks;
  }
  const std::uint32_t middle = span.first + (span.end - span.first + 1) / 2;
  above += own.add;
  return benefit(2 * node, {span.first, middle}, part, bytes, above) +
         benefit(2 * node + 1, {middle, span.end}, part, bytes, above);
}

void PressureTree::add(std::uint32_t first, std::uint32_t end, std::int64_t bytes) {
  if (first < slots_) add(1, {0, slots_}, {first, std::min(end, slots_)}, bytes);
  if (end > slots_) add(1, {0, slots_}, {std::max(first, slots_) - slots_, end - slots_}, bytes);
}

std::int64_t PressureTree::max(std::uint32_t first, std::uint32_t end) const {
  std::int64_t most = lowest;
  if (first < slots_) most = max(1, {0, slots_}, {first, std::min(end, slots_)});
  if (end > slots_)
    most = std::max(most, max(1, {0, slots_}, {std::max(first, slots_) - slots_, end - slots_}));
  return most;
}

ByteTime PressureTree::benefit(std::uint32_t first, std::uint32_t end, std::int64_t bytes) const {
  ByteTime sum = 0;
  if (first < slots_) sum += benefit(1, {0, slots_}, {first, std::min(end, slots_)}, bytes, 0);
  if (end > slots_)
    sum += benefit(1, {0, slots_}, {std::max(first, slots_) - slots_, end - slots_}, bytes, 0);
  return sum;
}

}  // namespace spillway::strategies::planner
