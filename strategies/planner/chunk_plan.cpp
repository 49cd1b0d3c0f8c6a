#include "strategies/planner/chunk_plan.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

namespace spillway::strategies {

namespace {

constexpr std::uint64_t mebi = 1 << 20;
constexpr std::uint64_t least = 32 * mebi, range = 256 * mebi;

bool contains(const std::vector<std::uint32_t>& list, std::uint32_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

ChunkLayout pack_chunks(std::span<const ChunkTensor> tensors, std::uint64_t elements) {
  ChunkLayout layout;
  layout.elements = elements;
  std::optional<std::size_t> open;  // chunk being filled
  std::uint64_t left = 0;
  for (std::uint32_t tensor = 0; tensor < tensors.size(); ++tensor) {
    const std::uint64_t size = tensors[tensor].elements;
    if (size > elements) {
      ENSURE(tensors[tensor].may_be_alone, "a chunk that its largest tensor does not fit");
      layout.chunks.push_back({tensor});
      continue;
    }
    if (!open || size > left) {
      layout.wasted += left;
      open = layout.chunks.size();
      layout.chunks.emplace_back();
      left = elements;
    }
    layout.chunks[*open].push_back(tensor);
    left -= size;
  }
  layout.wasted += left;
  return layout;
}

ChunkLayout search_chunks(std::span<const ChunkTensor> tensors) {
  std::uint64_t all = 0, largest = 1;
  for (const ChunkTensor& tensor : tensors) {
    all += tensor.elements;
    if (!tensor.may_be_alone) largest = std::max(largest, tensor.elements);
  }
  if (all <= least) return pack_chunks(tensors, std::max<std::uint64_t>(all, 1));
  const std::uint64_t first = std::max(least, (largest + mebi - 1) / mebi * mebi);
  ChunkLayout best = pack_chunks(tensors, first);
  for (std::uint64_t size = first + mebi; size <= first + range; size += mebi) {
    ChunkLayout other = pack_chunks(tensors, size);
    if (other.wasted < best.wasted) best = std::move(other);
  }
  return best;
}

ChunkMoves plan_chunk_moves(const std::vector<std::vector<std::uint32_t>>& needed,
                            std::span<const std::uint64_t> bytes, std::uint64_t idle_bytes) {
  ChunkMoves moves;
  moves.come.resize(needed.size());
  moves.leave.resize(needed.size());
  const auto next_use = [&](std::uint32_t chunk, std::size_t after) {
    for (std::size_t step = after + 1; step < needed.size(); ++step)
      if (contains(needed[step], chunk)) return step;
    return std::numeric_limits<std::size_t>::max();
  };
  std::set<std::uint32_t> there;
  for (std::size_t step = 0; step < needed.size(); ++step) {
    for (const std::uint32_t chunk : needed[step])
      if (there.insert(chunk).second) moves.come[step].push_back(chunk);
    // what is idle when the step is over, needed last first
    std::vector<std::pair<std::size_t, std::uint32_t>> idle;
    std::uint64_t held = 0;
    for (const std::uint32_t chunk : there) {
      if (step + 1 < needed.size() && contains(needed[step + 1], chunk)) continue;
      idle.emplace_back(next_use(chunk, step), chunk);
      held += bytes[chunk];
    }
    std::sort(idle.rbegin(), idle.rend());
    for (const auto& [next, chunk] : idle) {
      if (next != std::numeric_limits<std::size_t>::max() && held <= idle_bytes) break;
      held -= bytes[chunk];
      moves.leave[step].push_back(chunk);
      there.erase(chunk);
    }
  }
  return moves;
}

}  // namespace spillway::strategies
