#include "strategies/planner/migration/pressure.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>

namespace spillway::strategies::planner {

PressureTree::PressureTree(const std::vector<std::int64_t>& excess)
    : slots_(static_cast<std::uint32_t>(excess.size())) {
  ENSURE(slots_ > 0, "a pressure of no slots");
  std::size_t leaves = 1;
  while (leaves < excess.size()) leaves *= 2;
  nodes_.resize(2 * leaves);
  build(1, {0, slots_}, excess);
}

/// The child that `slot` is in; `span` becomes its own.
std::uint32_t PressureTree::child(std::uint32_t node, Span& span, std::uint32_t slot) {
  const std::uint32_t middle = span.middle();
  if (slot < middle) {
    span.end = middle;
    return 2 * node;
  }
  span.first = middle;
  return 2 * node + 1;
}

void PressureTree::build(std::uint32_t node, Span span, const std::vector<std::int64_t>& excess) {
  Node& own = nodes_[node];
  if (span.end - span.first == 1) {
    own.max = excess[span.first];
    return;
  }
  const std::uint32_t middle = span.middle();
  build(2 * node, {span.first, middle}, excess);
  build(2 * node + 1, {middle, span.end}, excess);
  own.max = std::max(nodes_[2 * node].max, nodes_[2 * node + 1].max);
}

void PressureTree::apply(std::uint32_t node, std::int64_t bytes) {
  Node& own = nodes_[node];
  own.max += bytes;
  own.add += bytes;
}

// An addition stays at the highest node that it covers whole; who reads below adds it on the way
// down.
void PressureTree::add(std::uint32_t node, Span span, Span part, std::int64_t bytes) {
  if (span.misses(part)) return;
  if (span.lies_in(part)) return apply(node, bytes);
  const std::uint32_t middle = span.middle();
  add(2 * node, {span.first, middle}, part, bytes);
  add(2 * node + 1, {middle, span.end}, part, bytes);
  Node& own = nodes_[node];
  own.max = std::max(nodes_[2 * node].max, nodes_[2 * node + 1].max) + own.add;
}

void PressureTree::add(std::uint32_t first, std::uint32_t end, std::int64_t bytes) {
  if (end - first == 1) return add_to_one(first, bytes);
  if (first < slots_) add(1, {0, slots_}, {first, std::min(end, slots_)}, bytes);
  if (end > slots_) add(1, {0, slots_}, {std::max(first, slots_) - slots_, end - slots_}, bytes);
}

bool PressureTree::at_most(std::uint32_t node, Span span, Span part, std::int64_t limit) const {
  if (span.misses(part) || nodes_[node].max <= limit) return true;
  if (span.lies_in(part)) return false;
  const std::uint32_t middle = span.middle();
  limit -= nodes_[node].add;
  return at_most(2 * node, {span.first, middle}, part, limit) &&
         at_most(2 * node + 1, {middle, span.end}, part, limit);
}

bool PressureTree::at_most(std::uint32_t first, std::uint32_t end, std::int64_t limit) const {
  if (first < slots_ && !at_most(1, {0, slots_}, {first, std::min(end, slots_)}, limit))
    return false;
  return end <= slots_ ||
         at_most(1, {0, slots_}, {std::max(first, slots_) - slots_, end - slots_}, limit);
}

// Single slots are what urgent tensors are added to and asked of: without a look at neighbours.
std::int64_t PressureTree::at(std::uint32_t slot) const {
  std::int64_t above = 0;
  std::uint32_t node = 1;
  for (Span span{0, slots_}; span.end - span.first > 1;) {
    above += nodes_[node].add;
    node = child(node, span, slot % slots_);
  }
  return nodes_[node].max + above;
}

void PressureTree::add_to_one(std::uint32_t slot, std::int64_t bytes) {
  std::uint32_t node = 1;
  for (Span span{0, slots_}; span.end - span.first > 1;) node = child(node, span, slot % slots_);
  nodes_[node].max += bytes;
  for (node /= 2; node > 0; node /= 2)
    nodes_[node].max = std::max(nodes_[2 * node].max, nodes_[2 * node + 1].max) + nodes_[node].add;
}

}  // namespace spillway::strategies::planner
