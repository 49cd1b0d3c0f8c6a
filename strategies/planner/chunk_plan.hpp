#pragma once

#include <cstdint>
#include <span>
#include <vector>

/// Parameters in equal chunks, and which of them the GPU holds when: Gemini's. Pure functions of
/// numbers.
namespace spillway::strategies {

/// A tensor to be packed, elements.
struct ChunkTensor {
  std::uint64_t elements = 0;
  bool may_be_alone = false;  ///< an embedding: where it is larger than a chunk it gets its own
};

struct ChunkLayout {
  std::uint64_t elements = 0;                      ///< of each chunk but those of one large tensor
  std::vector<std::vector<std::uint32_t>> chunks;  ///< tensors, in model order
  std::uint64_t wasted = 0;                        ///< elements that no tensor fills
};

/// Fills chunks of `elements` in model order; a tensor is never split.
///   Requires  no tensor is larger, but for those that may be alone
ChunkLayout pack_chunks(std::span<const ChunkTensor> tensors, std::uint64_t elements);

/// The layout of least waste, of equal ones the smallest: from 32 Mi elements, or the largest
/// tensor that cannot be alone, in steps of 1 Mi to 256 Mi more; a smaller model is one chunk.
///   Source  ColossalAI 0.3.5, its search for a chunk's size; PatrickStar, section on chunks; the
///           bounds of the range are ours ('assumed')
ChunkLayout search_chunks(std::span<const ChunkTensor> tensors);

/// By step: chunks that come to the GPU before it, and chunks that leave it when it is over.
struct ChunkMoves {
  std::vector<std::vector<std::uint32_t>> come, leave;
};

/// Chunks stay on the GPU while steps use them; of the others as many as `idle_bytes` hold, and
/// those leave first that are needed last (Belady).
///   needed  by step: the chunks that it uses; none is there before the first, all leave at the end
ChunkMoves plan_chunk_moves(const std::vector<std::vector<std::uint32_t>>& needed,
                            std::span<const std::uint64_t> bytes, std::uint64_t idle_bytes);

}  // namespace spillway::strategies
