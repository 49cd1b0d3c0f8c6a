#include "hw_backend/probe/session.hpp"
#include "hw_backend/probe/storage_part.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace spillway::hw_backend {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Measurement, IsTheMedianWithItsRange) {
  const Measurement odd = measurement_of("a", "b", Unit::seconds, {5, 1, 9});
  EXPECT_EQ(odd.median, 5);
  EXPECT_EQ(odd.least, 1);
  EXPECT_EQ(odd.most, 9);
  EXPECT_EQ(odd.runs, 3u);
  EXPECT_EQ(odd.spread(), 0.8);  // (9 - 1) / 2 / 5
  EXPECT_EQ(measurement_of("a", "b", Unit::seconds, {4, 2}).median, 3);
  EXPECT_EQ(measurement_of("a", "b", Unit::seconds, {7}).spread(), 0);
}

TEST(Measurement, SaysWhereItIsFrom) {
  const std::string source =
      source_of(measurement_of("host.adam", "all cores", Unit::params_per_second, {90, 100, 110}));
  EXPECT_THAT(source, StartsWith("measured: all cores, median of 3 runs, +-10.0 %, 20"));
}

TEST(FourDigits, KeepFourAndTheZeros) {
  EXPECT_EQ(four_digits(123456789), 123500000);
  EXPECT_EQ(four_digits(0.000123456), 0.0001235);
  EXPECT_EQ(four_digits(9999.6), 10000);
  EXPECT_EQ(four_digits(-1.23456), -1.235);
  EXPECT_EQ(four_digits(1234), 1234);
  EXPECT_EQ(four_digits(0), 0);
}

TEST(Session, CountsWorkInFiveIntervalsAfterOneCallThatDoesNotCount) {
  ProbeOptions options;
  options.quick = true;
  Probed out;
  const ProbeProgress silent;
  Session session(options, silent, out);
  std::uint64_t calls = 0;
  const auto begin = std::chrono::steady_clock::now();
  const Measurement rate = session.rate("a", "b", Unit::bytes_per_second, [&] {
    ++calls;
    return 10.0;
  });
  const double seconds = seconds_since(begin);
  EXPECT_EQ(rate.runs, 5u);
  EXPECT_GE(seconds, 5 * session.interval_s());
  // no interval is shorter than asked
  EXPECT_LE(rate.least * 5 * session.interval_s(), 10.0 * static_cast<double>(calls));
  EXPECT_LE(rate.least, rate.median);
  EXPECT_LE(rate.median, rate.most);
}

/// A microsecond of work behind a way of a millisecond: alone it would seem a thousand times
/// slower.
TEST(Session, RepeatsShortWorkUntilTheWayThereIsNoPartOfItsRate) {
  ProbeOptions options;
  options.quick = true;
  Probed out;
  const ProbeProgress silent;
  const Session session(options, silent, out);
  const auto spin = [](double seconds) {
    const auto begin = std::chrono::steady_clock::now();
    while (seconds_since(begin) < seconds) continue;
  };
  std::vector<unsigned> trips;
  const Measurement rate =
      session.steady_rate("a", "short work", Unit::bytes_per_second, 10, [&](unsigned times) {
        trips.push_back(times);
        spin(1e-3 + 1e-6 * times);
      });
  EXPECT_EQ(trips.front(), 1u);
  // (5 ms - 1 ms) / 1 us on a free processor; on a busy one the way takes longer
  EXPECT_GE(trips.back(), 100u);
  EXPECT_THAT(rate.what, StartsWith("short work, "));
  EXPECT_THAT(rate.what, HasSubstr(" a round trip"));
  EXPECT_GT(rate.most, 2e4);  // one at a time it would be below 1e4
  EXPECT_LT(rate.most, 1e7);
}

TEST(Session, DoesLongWorkOnce) {
  ProbeOptions options;
  options.quick = true;
  Probed out;
  const ProbeProgress silent;
  const Session session(options, silent, out);
  const Measurement rate =
      session.steady_rate("a", "long work", Unit::bytes_per_second, 1, [&](unsigned times) {
        EXPECT_EQ(times, 1u);
        std::this_thread::sleep_for(std::chrono::milliseconds(6));
      });
  EXPECT_EQ(rate.what, "long work");
}

TEST(Session, KeepsANumberWithItsSource) {
  ProbeOptions options;
  Probed out;
  const ProbeProgress silent;
  Session session(options, silent, out);
  EXPECT_EQ(session.keep(measurement_of("host.adam", "x", Unit::share, {12345})), 12350);
  EXPECT_EQ(out.measurements.front().median, 12345);
  EXPECT_THAT(out.machine.sources.at("host.adam"), HasSubstr("median of 1 runs"));
}

TEST(Session, TellsItsProgress) {
  std::vector<double> shares;
  const ProbeProgress progress = [&](double share, const std::string&) { shares.push_back(share); };
  ProbeOptions options;
  Probed out;
  Session session(options, progress, out);
  session.plan(3);
  session.plan(1);
  for (const double seconds : {1.0, 3.0, 5.0}) session.begin("part", seconds);
  EXPECT_EQ(shares, (std::vector<double>{0, 0.25, 1}));  // 0 of 4 s, 1 of 4, all
}

TEST(Cliff, IsWhereTwoWindowsAreSlow) {
  // the first three say what is fast: 100; six tenths of it: 60
  EXPECT_EQ(find_cliff({100, 90, 110, 100, 59, 50, 40}), 4u);
  EXPECT_EQ(find_cliff({100, 90, 110, 20, 100, 100}), std::nullopt);  // one slow window: chance
  EXPECT_EQ(find_cliff({100, 100, 100, 60, 60, 60}), std::nullopt);
  EXPECT_EQ(find_cliff({100, 100, 100, 20, 20}), 3u);
  EXPECT_EQ(find_cliff({100, 100, 20, 20}), std::nullopt);  // too few to say
  EXPECT_EQ(find_cliff({}), std::nullopt);
}

TEST(Writes, AreFewerWhenQuickAndTheCliffsWhenThorough) {
  constexpr std::uint64_t GiB = std::uint64_t{1} << 30;
  ProbeOptions options;
  EXPECT_LT(probe_writes(options), 8 * GiB);
  const std::uint64_t usual = probe_writes(options);
  options.quick = true;
  EXPECT_LT(probe_writes(options), 5 * GiB / 2);
  options.quick = false;
  options.thorough = true;
  options.cliff_bytes = 100 * GiB;
  EXPECT_EQ(probe_writes(options), usual + 100 * GiB);
}

}  // namespace
}  // namespace spillway::hw_backend
