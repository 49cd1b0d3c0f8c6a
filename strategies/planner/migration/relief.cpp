#include "strategies/planner/migration/relief.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <limits>

namespace spillway::strategies::planner {

namespace {
constexpr std::uint32_t block = 16;  ///< slots that are looked at one by one
}

bool Relief::Span::is_block() const { return end - first <= block; }

std::uint32_t Relief::Span::middle() const {
  return first + (end - first + 2 * block - 1) / (2 * block) * block;
}

Relief::Relief(std::vector<std::int64_t> excess, std::vector<std::int64_t> ticks)
    : excess_(std::move(excess)), ticks_(std::move(ticks)) {
  ENSURE(!excess_.empty() && ticks_.size() == excess_.size(), "a pressure of no slots");
  for (std::size_t i = 0; i < excess_.size(); ++i)
    if (excess_[i] <= 0) ticks_[i] = 0;
  std::size_t leaves = 1;
  while (leaves * block < excess_.size()) leaves *= 2;
  nodes_.resize(2 * leaves);
  build(1, all());
}

void Relief::build(std::uint32_t node, Span span) {
  if (!span.is_block()) {
    build(2 * node, {span.first, span.middle()});
    build(2 * node + 1, {span.middle(), span.end});
  }
  join(node, span);
}

void Relief::join_slots(Node& own, Span span) const {
  own.min = std::numeric_limits<std::int64_t>::max();
  own.max = std::numeric_limits<std::int64_t>::min();
  own.ticks = 0;
  own.product = 0;
  for (std::uint32_t i = span.first; i < span.end; ++i) {
    if (ticks_[i] == 0) continue;
    own.min = std::min(own.min, excess_[i]);
    own.max = std::max(own.max, excess_[i]);
    own.ticks += ticks_[i];
    own.product += static_cast<ByteTime>(excess_[i]) * ticks_[i];
  }
}

void Relief::join(std::uint32_t node, Span span) {
  Node& own = nodes_[node];
  if (span.is_block()) {
    join_slots(own, span);
  } else {
    const Node &left = nodes_[2 * node], &right = nodes_[2 * node + 1];
    own.min = left.ticks == 0    ? right.min
              : right.ticks == 0 ? left.min
                                 : std::min(left.min, right.min);
    own.max = left.ticks == 0    ? right.max
              : right.ticks == 0 ? left.max
                                 : std::max(left.max, right.max);
    own.ticks = left.ticks + right.ticks;
    own.product = left.product + right.product;
  }
  if (own.ticks == 0) return;
  own.min += own.add;
  own.max += own.add;
  own.product += static_cast<ByteTime>(own.add) * own.ticks;
}

// What is taken stays at the highest node whose slots all lose it; who reads below adds it on the
// way down.
void Relief::take(std::uint32_t node, Span span, Span part, std::int64_t bytes,
                  std::int64_t above) {
  Node& own = nodes_[node];
  if (own.ticks == 0 || span.misses(part)) return;
  if (span.lies_in(part)) {
    own.min -= bytes;
    own.max -= bytes;
    own.add -= bytes;
    own.product -= static_cast<ByteTime>(bytes) * own.ticks;
    return drop_relieved(node, span, above);
  }
  above += own.add;
  if (span.is_block()) {
    const std::uint32_t end = std::min(span.end, part.end);
    for (std::uint32_t i = std::max(span.first, part.first); i < end; ++i) {
      excess_[i] -= bytes;
      if (excess_[i] + above <= 0) ticks_[i] = 0;
    }
  } else {
    take(2 * node, {span.first, span.middle()}, part, bytes, above);
    take(2 * node + 1, {span.middle(), span.end}, part, bytes, above);
  }
  join(node, span);
}

void Relief::drop_relieved(std::uint32_t node, Span span, std::int64_t above) {
  Node& own = nodes_[node];
  if (own.ticks == 0 || own.min + above > 0) return;
  if (own.max + above <= 0) {
    own.ticks = 0;
    own.product = 0;
    return;
  }
  above += own.add;
  if (span.is_block()) {
    for (std::uint32_t i = span.first; i < span.end; ++i)
      if (excess_[i] + above <= 0) ticks_[i] = 0;
  } else {
    drop_relieved(2 * node, {span.first, span.middle()}, above);
    drop_relieved(2 * node + 1, {span.middle(), span.end}, above);
  }
  join(node, span);
}

ByteTime Relief::of(std::uint32_t node, Span span, Span part, std::int64_t bytes,
                    std::int64_t above) const {
  const Node& own = nodes_[node];
  if (own.ticks == 0 || span.misses(part)) return 0;
  if (span.lies_in(part)) {
    if (own.min + above >= bytes) return static_cast<ByteTime>(bytes) * own.ticks;
    if (own.max + above <= bytes) return own.product + static_cast<ByteTime>(above) * own.ticks;
  }
  above += own.add;
  if (!span.is_block())
    return of(2 * node, {span.first, span.middle()}, part, bytes, above) +
           of(2 * node + 1, {span.middle(), span.end}, part, bytes, above);
  ByteTime sum = 0;
  const std::uint32_t end = std::min(span.end, part.end);
  for (std::uint32_t i = std::max(span.first, part.first); i < end; ++i)
    sum += static_cast<ByteTime>(std::min(bytes, excess_[i] + above)) * ticks_[i];
  return sum;
}

void Relief::take(std::uint32_t first, std::uint32_t end, std::int64_t bytes) {
  ENSURE(bytes >= 0, "a tensor that leaves takes nothing off");
  const std::uint32_t slots = all().end;
  if (first < slots) take(1, all(), {first, std::min(end, slots)}, bytes, 0);
  if (end > slots) take(1, all(), {std::max(first, slots) - slots, end - slots}, bytes, 0);
}

ByteTime Relief::of(std::uint32_t first, std::uint32_t end, std::int64_t bytes) const {
  const std::uint32_t slots = all().end;
  ByteTime sum = 0;
  if (first < slots) sum += of(1, all(), {first, std::min(end, slots)}, bytes, 0);
  if (end > slots) sum += of(1, all(), {std::max(first, slots) - slots, end - slots}, bytes, 0);
  return sum;
}

}  // namespace spillway::strategies::planner
