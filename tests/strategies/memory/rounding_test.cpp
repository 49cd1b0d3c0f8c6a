#include "strategies/memory/rounding.hpp"

#include <gtest/gtest.h>

namespace spillway::strategies::rounding_test {
namespace {

struct Case {
  std::uint64_t asked, taken;
};

constexpr std::uint64_t kib = 1 << 10;
constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t gib = 1 << 30;

TEST(Rounding, NothingTakesNothing) {
  for (const Rounding rounding : {Rounding::none, Rounding::power_of_two, Rounding::page,
                                  Rounding::cuda_caching, Rounding::sector})
    EXPECT_EQ(rounded(rounding, 0), 0u);
}

TEST(Rounding, PageableMemoryIsAsAsked) {
  for (const std::uint64_t asked : {1ull, 4095ull, 4097ull, 123456789ull})
    EXPECT_EQ(rounded(Rounding::none, asked), asked);
}

TEST(Rounding, TheCachingPinnedAllocatorTakesTheNextPowerOfTwo) {
  for (const Case& one :
       {Case{1, 1}, Case{2, 2}, Case{3, 4}, Case{4 * kib, 4 * kib}, Case{4 * kib + 1, 8 * kib},
        Case{gib - 1, gib}, Case{gib, gib}, Case{gib + 1, 2 * gib}})
    EXPECT_EQ(rounded(Rounding::power_of_two, one.asked), one.taken) << one.asked;
}

TEST(Rounding, ExactPinnedMemoryAndExtentsTakeWholePagesAndSectors) {
  for (const Rounding rounding : {Rounding::page, Rounding::sector})
    for (const Case& one : {Case{1, 4096}, Case{4095, 4096}, Case{4096, 4096}, Case{4097, 8192},
                            Case{gib, gib}, Case{gib + 1, gib + 4096}})
      EXPECT_EQ(rounded(rounding, one.asked), one.taken) << one.asked;
}

TEST(Rounding, TheCudaAllocatorTakes512ByteBlocksUpToAMebibyteThenTwoMebibytes) {
  for (const Case& one :
       {Case{1, 512}, Case{512, 512}, Case{513, 1024}, Case{mib - 1, mib}, Case{mib, mib},
        Case{mib + 1, 2 * mib}, Case{2 * mib, 2 * mib}, Case{2 * mib + 1, 4 * mib}, Case{gib, gib}})
    EXPECT_EQ(rounded(Rounding::cuda_caching, one.asked), one.taken) << one.asked;
}

}  // namespace
}  // namespace spillway::strategies::rounding_test
