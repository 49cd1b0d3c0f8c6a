#include "strategies/planner/chunk_plan.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <map>
#include <random>

namespace spillway::strategies::chunk_plan_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t mebi = 1 << 20;

TEST(PackChunks, FillsThemInOrderAndSplitsNoTensor) {
  // 10 elements a chunk: 4 + 6, then 5, as 6 more do not fit, then 6
  const std::vector<ChunkTensor> tensors{{4}, {6}, {5}, {6}};
  const ChunkLayout layout = pack_chunks(tensors, 10);
  EXPECT_THAT(layout.chunks, ElementsAre(ElementsAre(0, 1), ElementsAre(2), ElementsAre(3)));
  EXPECT_EQ(layout.wasted, 0u + 5 + 4);
  EXPECT_THAT(pack_chunks({}, 10).chunks, IsEmpty());
}

TEST(PackChunks, GivesALargeEmbeddingItsOwn) {
  const std::vector<ChunkTensor> tensors{{30, true}, {4}, {6}};
  const ChunkLayout layout = pack_chunks(tensors, 10);
  EXPECT_THAT(layout.chunks, ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
  EXPECT_EQ(layout.wasted, 0u);
  const std::vector<ChunkTensor> small{{3, true}, {4}};
  EXPECT_THAT(pack_chunks(small, 10).chunks, ElementsAre(ElementsAre(0, 1)));
}

TEST(SearchChunks, TakesTheSizeOfLeastWasteNeverBelowTheLargestTensor) {
  // eight tensors of 20 Mi: 40 Mi hold two, 32 Mi only one; the first size without waste is 40 Mi
  const ChunkLayout pairs = search_chunks(std::vector<ChunkTensor>(8, {20 * mebi}));
  EXPECT_EQ(pairs.elements, 40 * mebi);
  EXPECT_EQ(pairs.wasted, 0u);
  const ChunkLayout large = search_chunks(std::vector<ChunkTensor>(4, {50 * mebi}));
  EXPECT_EQ(large.elements, 50 * mebi);
  // an embedding of 300 Mi is no reason for chunks of 300 Mi
  std::vector<ChunkTensor> vocabulary(8, {20 * mebi});
  vocabulary.insert(vocabulary.begin(), {300 * mebi, true});
  EXPECT_EQ(search_chunks(vocabulary).elements, 40 * mebi);
  // a small model is one chunk
  EXPECT_THAT(search_chunks(std::vector<ChunkTensor>(3, {100})).chunks,
              ElementsAre(ElementsAre(0, 1, 2)));
}

/// Three layers forward and back, a chunk each.
const std::vector<std::vector<std::uint32_t>> there_and_back{{0}, {1}, {2}, {2}, {1}, {0}};

std::uint64_t moved(const ChunkMoves& moves, const std::vector<std::uint64_t>& bytes) {
  std::uint64_t sum = 0;
  for (const auto& step : moves.come)
    for (const std::uint32_t chunk : step) sum += bytes[chunk];
  return sum;
}

TEST(ChunkMoves, BringEachChunkForEachPassWithoutACache) {
  const std::vector<std::uint64_t> bytes{10, 10, 10};
  const ChunkMoves moves = plan_chunk_moves(there_and_back, bytes, 0);
  // the last layer's is still there when backward begins with it
  EXPECT_THAT(moves.come, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), IsEmpty(),
                                      ElementsAre(1), ElementsAre(0)));
  EXPECT_THAT(moves.leave, ElementsAre(ElementsAre(0), ElementsAre(1), IsEmpty(), ElementsAre(2),
                                       ElementsAre(1), ElementsAre(0)));
}

TEST(ChunkMoves, KeepWhatIsNeededSoonest) {
  const std::vector<std::uint64_t> bytes{10, 10, 10};
  // room for one idle chunk: chunk 1, which backward needs before chunk 0
  EXPECT_EQ(moved(plan_chunk_moves(there_and_back, bytes, 10), bytes), 40u);
  EXPECT_EQ(moved(plan_chunk_moves(there_and_back, bytes, 9), bytes), 50u);  // one byte short
  EXPECT_EQ(moved(plan_chunk_moves(there_and_back, bytes, 20), bytes), 30u);
}

/// The fewest chunks brought, by trying every choice of what stays idle.
std::size_t by_brute_force(const std::vector<std::vector<std::uint32_t>>& needed,
                           std::size_t idle) {
  std::map<std::uint32_t, std::size_t> reached{{0, 0}};  // chunks there, as bits: brought so far
  for (std::size_t step = 0; step < needed.size(); ++step) {
    std::uint32_t now = 0, next = 0;
    for (const std::uint32_t chunk : needed[step]) now |= 1u << chunk;
    if (step + 1 < needed.size())
      for (const std::uint32_t chunk : needed[step + 1]) next |= 1u << chunk;
    std::map<std::uint32_t, std::size_t> after;
    for (const auto& [there, brought] : reached) {
      const std::size_t more = static_cast<std::size_t>(std::popcount(now & ~there));
      const std::uint32_t all = there | now;
      for (std::uint32_t kept = all;; kept = (kept - 1) & all) {
        if ((kept & next & all) == (next & all) &&
            static_cast<std::size_t>(std::popcount(kept & ~next)) <= idle) {
          const auto [known, fresh] = after.try_emplace(kept, brought + more);
          known->second = std::min(known->second, brought + more);
        }
        if (kept == 0) break;
      }
    }
    reached = std::move(after);
  }
  std::size_t best = ~std::size_t{0};
  for (const auto& [there, brought] : reached) best = std::min(best, brought);
  return best;
}

TEST(ChunkMoves, BringAsFewAsAnyChoiceWould) {
  std::mt19937 random(11);
  for (int run = 0; run < 60; ++run) {
    std::vector<std::vector<std::uint32_t>> needed(10);
    for (auto& step : needed) step = {static_cast<std::uint32_t>(random() % 6)};
    const std::size_t idle = random() % 4;
    const std::vector<std::uint64_t> bytes(6, 1);
    EXPECT_EQ(moved(plan_chunk_moves(needed, bytes, idle), bytes), by_brute_force(needed, idle))
        << run;
  }
}

}  // namespace
}  // namespace spillway::strategies::chunk_plan_test
