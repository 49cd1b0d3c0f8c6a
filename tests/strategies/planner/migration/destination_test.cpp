#include "strategies/planner/migration/planner.hpp"

#include <gtest/gtest.h>

namespace spillway::strategies::planner {
namespace {

TEST(Destination, OfShortGapsIsTheHostWhereTheArrayHasNoTimeForThem) {
  // 1/R + 1/W of 100 MB at 2 and 1 GB/s: 0.15 s of a step of 0.4 s. Gaps of 0.3, 0.2 and 0.1 s:
  // two fit, the shortest is left to the host
  constexpr std::uint64_t megabyte = 1'000'000;
  Channels channels;
  channels.ssd_read = 2e9;
  channels.ssd_write = 1e9;
  const std::vector<std::int64_t> ticks(4, 100'000'000'000);
  const auto gap = [&](std::uint64_t bytes) {
    return short_gap({{1, bytes}, {3, bytes}, {2, bytes}}, channels, ticks);
  };
  EXPECT_EQ(gap(100 * megabyte), 1);
  EXPECT_EQ(gap(80 * megabyte), 0);   // 0.36 s
  EXPECT_EQ(gap(300 * megabyte), 3);  // not even the longest
}

}  // namespace
}  // namespace spillway::strategies::planner
