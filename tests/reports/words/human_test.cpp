#include "reports/words/human.hpp"

#include <gtest/gtest.h>

namespace spillway::reports {
namespace {

constexpr std::uint64_t kib = 1024, mib = kib * kib, gib = kib * mib;

TEST(HumanMemory, CountsInPowersOfTwo) {
  EXPECT_EQ(human_memory(0), "0 B");
  EXPECT_EQ(human_memory(1023), "1023 B");
  EXPECT_EQ(human_memory(kib), "1.00 KiB");
  EXPECT_EQ(human_memory(911 * gib / 10), "91.1 GiB");
  EXPECT_EQ(human_memory(9 * mib + mib / 2), "9.50 MiB");
  EXPECT_EQ(human_memory(1000 * gib), "1000.0 GiB");
}

TEST(HumanMemory, TakesTheNextUnitWhenRoundingReachesIt) {
  EXPECT_EQ(human_memory(gib - 1), "1.00 GiB");
  EXPECT_EQ(human_memory(1024 * gib), "1.00 TiB");
  EXPECT_EQ(human_memory(10 * gib - 1), "10.0 GiB");  // 9.999999999 is not "10.00"
  EXPECT_EQ(human_memory(~std::uint64_t{0}), "16384.0 PiB");
}

TEST(HumanBytes, CountsInPowersOfTen) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1.00 kB");
  EXPECT_EQ(human_bytes(3.84e12), "3.84 TB");
  EXPECT_EQ(human_bytes(999.96e9), "1.00 TB");
  EXPECT_EQ(human_bytes(7e15), "7.00 PB");
}

TEST(HumanShare, HasNoNegativeZero) {
  EXPECT_EQ(human_share(-0.0001), "0.0 %");
  EXPECT_EQ(human_share(0.311), "31.1 %");
  EXPECT_EQ(human_change(-0.0001), "+0.0 %");
  EXPECT_EQ(human_change(-0.031), "-3.1 %");
}

TEST(HumanTime, IsNothingForWhatADifferenceOfEqualTimesLeaves) {
  EXPECT_EQ(human_time(7e-14), "0 s");
  EXPECT_EQ(human_time(-7e-14), "0 s");
}

TEST(HumanRate, IsBytesPerSecond) {
  EXPECT_EQ(human_rate(12.4e9), "12.4 GB/s");
  EXPECT_EQ(human_rate(0), "0 B/s");
}

TEST(HumanTime, HasThreeDigits) {
  EXPECT_EQ(human_time(0), "0 s");
  EXPECT_EQ(human_time(42.7), "42.7 s");
  EXPECT_EQ(human_time(0.85), "850 ms");
  EXPECT_EQ(human_time(9.53e-6), "9.53 us");
  EXPECT_EQ(human_time(3e-9), "3.00 ns");
  EXPECT_EQ(human_time(213.4), "213 s");
}

TEST(HumanTime, TakesTheNextUnitWhenRoundingReachesIt) {
  EXPECT_EQ(human_time(0.9996), "1.00 s");
  EXPECT_EQ(human_time(9.996), "10.0 s");
  EXPECT_EQ(human_time(99.96), "100 s");
  EXPECT_EQ(human_time(599.4), "599 s");
  EXPECT_EQ(human_time(600), "10.0 min");
  EXPECT_EQ(human_time(3 * 3600 + 720), "3.20 h");
  EXPECT_EQ(human_time(86400 * 4.1), "4.10 days");
}

TEST(HumanTime, KeepsTheSignOfADifference) { EXPECT_EQ(human_time(-0.25), "-250 ms"); }

TEST(HumanYears, IsInYearsDaysOrHours) {
  EXPECT_EQ(human_years(3.2), "3.2 years");
  EXPECT_EQ(human_years(0.4), "146 days");      // 0.4 x 365
  EXPECT_EQ(human_years(0.08), "29 days");      // 29.2
  EXPECT_EQ(human_years(0.004), "35.0 hours");  // 0.004 x 8760 = 35.04
  EXPECT_EQ(human_years(1e6), "over 1,000 years");
}

TEST(HumanNumber, GroupsThousandsAndKeepsThreeDigits) {
  EXPECT_EQ(human_number(0), "0");
  EXPECT_EQ(human_number(0.523), "0.52");
  EXPECT_EQ(human_number(12.34), "12.3");
  EXPECT_EQ(human_number(99.96), "100");
  EXPECT_EQ(human_number(1234.4), "1,234");
  EXPECT_EQ(human_number(1234567), "1,234,567");
  EXPECT_EQ(human_number(-1234), "-1,234");
}

TEST(HumanCount, GroupsThousands) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1,000");
  EXPECT_EQ(human_count(~std::uint64_t{0}), "18,446,744,073,709,551,615");
}

TEST(HumanShare, IsAPercentage) {
  EXPECT_EQ(human_share(0), "0.0 %");
  EXPECT_EQ(human_share(0.3114), "31.1 %");
  EXPECT_EQ(human_share(1), "100.0 %");
}

TEST(HumanPrice, IsInWholeDollars) {
  EXPECT_EQ(human_price(14098), "$14,098");
  EXPECT_EQ(human_price(308), "$308");
}

}  // namespace
}  // namespace spillway::reports
