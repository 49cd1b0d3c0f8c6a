#include "strategies/layout/chunk_layout.hpp"

#include "strategies/layout/chunk_knobs.hpp"

#include <algorithm>

namespace spillway::strategies {

ChunkLayout chunk_layout(const Job& job, const WeightLayout& layout) {
  std::vector<ChunkTensor> tensors;
  std::uint64_t largest = 1;
  for (std::uint32_t weight = 0; weight < layout.size(); ++weight) {
    const models::WeightKind kind = job.model.weights[weight].kind;
    const bool vocabulary =
        kind == models::WeightKind::embedding || kind == models::WeightKind::lm_head;
    const std::uint64_t bits = description::bits_of(job.row(weight).weight.type);
    tensors.push_back({8 * layout.share_bytes[weight] / bits, vocabulary});
    if (!vocabulary) largest = std::max(largest, tensors.back().elements);
  }
  const std::optional<std::uint64_t> wanted = chunk_knobs(job.scenario.strategy).elements;
  if (!wanted) return search_chunks(tensors);
  return pack_chunks(tensors,
                     std::max(*wanted / partition_of(job.scenario).weight_ways(), largest));
}

}  // namespace spillway::strategies
