#include "sim/slc_cache.hpp"

#include "tests/sim/fixture.hpp"

namespace spillway::sim::test {
namespace {

using description::Bytes;
using description::BytesPerSecond;

TEST(SlcCache, FillsAndThenAdmitsNothing) {
  SlcCache cache(100, 10, false);
  EXPECT_EQ(cache.admit(60), 60);
  EXPECT_EQ(cache.admit(60), 40);
  EXPECT_EQ(cache.admit(1), 0);
  EXPECT_EQ(SlcCache(100, 10, true).admit(1), 0);
}

TEST(SlcCache, EmptiesOnlyWhileNothingIsInFlight) {
  SlcCache cache(100, 10, true);
  cache.started(2);  // idle for 2 s: 20 are free
  EXPECT_EQ(cache.unfolded(), 80);
  cache.started(3);
  cache.ended(4);
  cache.ended(6);
  cache.started(6);  // idle for nothing
  EXPECT_EQ(cache.unfolded(), 80);
  cache.ended(7);
  cache.started(1000);
  EXPECT_EQ(cache.unfolded(), 0);  // and no less
  EXPECT_EQ(cache.admit(100), 100);
}

const std::uint64_t six = sectors(6 * GB);

/// Writes at 3 GB/s into a cache of 6 GB, past it at 1 GB/s.
description::Scenario cached(bool at_rest) {
  description::Scenario scenario = one_gpu();
  scenario.machine.storage[0].slc_cache =
      description::SlcCacheSpec{Bytes(six), BytesPerSecond(1e9)};
  if (at_rest) scenario.run.io_bench.emplace();
  return scenario;
}

/// An extent of 32 GB, and memory to write from.
struct Disk {
  Machine& machine;
  Rank rank;
  Stored extent;
  Buffer buffer;
  Disk(Machine& m, Rank r, Stored its_extent)
      : machine(m), rank(r), extent(std::move(its_extent)), buffer(pinned(m, r, 32 * GB)) {}
  Op write(std::uint64_t bytes) {
    return machine.write(rank, extent, {0, bytes}, buffer.view(0, bytes));
  }
};

Task<Stored> room(Machine& machine, Rank rank) {
  return machine.store(ssd, rank, Bytes(32 * GB), Purpose::optimizer_states);
}

Op pause(Machine& machine, Rank rank, double seconds) {
  const std::vector<GpuKernel> kernels(1, matmul(seconds * 100e12, 0));
  return machine.run(rank, kernels);
}

TEST(SimSlcCache, TheSetUpAndTheFirstStepLeaveNoRoomToLaterOnes) {
  run(cached(false), [](Machine& machine, Rank rank) -> Task<> {
    Stored extent = co_await room(machine, rank);
    Disk drive(machine, rank, std::move(extent));
    for (int step = 0; step < 3; ++step) {  // the set-up is the first
      co_await pause(machine, rank, 3);     // 3 GB free
      machine.step_ended();
      Op write = drive.write(sectors(3 * GB));
      co_await write;
      const double gb = static_cast<double>(sectors(3 * GB)) / 1e9;
      EXPECT_NEAR(write.timing().seconds(), step < 2 ? gb / 1 : gb / 3, 1e-5) << step;
    }
  });
}

TEST(SimSlcCache, AWriteBeyondTheCacheGoesOnFolded) {
  run(cached(true), [](Machine& machine, Rank rank) -> Task<> {
    Stored extent = co_await room(machine, rank);
    Disk drive(machine, rank, std::move(extent));
    // 6 GB at 3 GB/s, then 4 GB at 1 GB/s: 2 + 4 s
    const double over = static_cast<double>(sectors(10 * GB)) - 6e9;
    Op first = drive.write(sectors(10 * GB));
    co_await first;
    EXPECT_SECONDS(first, 2 + over / 1e9);
    // full, and no pause since
    Op second = drive.write(sectors(3 * GB));
    co_await second;
    EXPECT_SECONDS(second, static_cast<double>(sectors(3 * GB)) / 1e9);
  });
}

TEST(SimSlcCache, AWriteThatFillsItExactlyIsFast) {
  run(cached(true), [](Machine& machine, Rank rank) -> Task<> {
    Stored extent = co_await room(machine, rank);
    Disk drive(machine, rank, std::move(extent));
    Op write = drive.write(six);
    co_await write;
    EXPECT_SECONDS(write, static_cast<double>(six) / 3e9);
    Op one = drive.write(4096);
    co_await one;
    EXPECT_NEAR(one.timing().seconds(), 4096 / 1e9, 1e-12);
  });
}

TEST(SimSlcCache, APauseMakesRoomAtTheFoldedRate) {
  run(cached(false), [](Machine& machine, Rank rank) -> Task<> {
    Stored extent = co_await room(machine, rank);  // full: training has gone on for hours
    Disk drive(machine, rank, std::move(extent));
    co_await pause(machine, rank, 3);  // 3 GB free
    Op write = drive.write(sectors(5 * GB));
    co_await write;
    const double slow = static_cast<double>(sectors(5 * GB)) - 3e9;
    EXPECT_NEAR(write.timing().seconds(), 1 + slow / 1e9, 1e-5);
    // a read keeps it from folding
    Op read = machine.read(rank, drive.extent, {0, six}, drive.buffer.view(0, six));
    co_await read;
    EXPECT_SECONDS(read, static_cast<double>(six) / 6e9);
    Op again = drive.write(sectors(1 * GB));
    co_await again;
    EXPECT_NEAR(again.timing().seconds(), static_cast<double>(sectors(1 * GB)) / 1e9, 1e-5);
  });
}

TEST(SimSlcCache, ACycleOfPauseAndWriteIsSteadyFromItsFirstTurn) {
  run(cached(false), [](Machine& machine, Rank rank) -> Task<> {
    Stored extent = co_await room(machine, rank);
    Disk drive(machine, rank, std::move(extent));
    const std::uint64_t bytes = sectors(4 * GB);
    for (int turn = 0; turn < 4; ++turn) {
      co_await pause(machine, rank, 1);  // 1 GB free: it is fast, 3 GB are not
      Op write = drive.write(bytes);
      co_await write;
      EXPECT_NEAR(write.timing().seconds(), 1.0 / 3 + (static_cast<double>(bytes) - 1e9) / 1e9,
                  1e-5)
          << turn;
    }
  });
}

TEST(SimSlcCache, WritesThatPausesCanMoveAreAllFast) {
  run(cached(false), [](Machine& machine, Rank rank) -> Task<> {
    Stored extent = co_await room(machine, rank);
    Disk drive(machine, rank, std::move(extent));
    for (int turn = 0; turn < 3; ++turn) {
      co_await pause(machine, rank, 2);
      Op write = drive.write(sectors(2 * GB));
      co_await write;
      EXPECT_NEAR(write.timing().seconds(), 2.0 / 3, 1e-5) << turn;
    }
  });
}

TEST(SimSlcCache, DrivesHaveOneEach) {
  description::Scenario scenario = cached(true);
  scenario.machine.storage[0].count = 2;
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Stored extent = co_await room(machine, rank);
    Disk drive(machine, rank, std::move(extent));
    const std::uint64_t bytes = 14 * GB / 8192 * 8192;
    Op write = drive.write(bytes);  // 12 GB at 6 GB/s, the rest at 2 GB/s
    co_await write;
    EXPECT_SECONDS(write, 2 + (static_cast<double>(bytes) - 12e9) / 2e9);
  });
}

TEST(SimSlcCache, ReadsShareTheDriveWithASlowWrite) {
  run(cached(false), [](Machine& machine, Rank rank) -> Task<> {
    Stored extent = co_await room(machine, rank);
    Disk drive(machine, rank, std::move(extent));
    const std::uint64_t bytes = sectors(6 * GB);
    Buffer other = pinned(machine, rank, bytes);
    Stored from = co_await machine.store(ssd, rank, Bytes(bytes), Purpose::weights);
    Op write = drive.write(bytes);
    Op read = machine.read(rank, from, {0, bytes}, other.view());
    co_await read;
    co_await write;
    // r/6 + w/1 = 1 with r = w: 6/7 GB/s each
    EXPECT_NEAR(read.timing().seconds(), 7.0, 1e-4);
    EXPECT_NEAR(write.timing().seconds(), 7.0, 1e-4);
  });
}

}  // namespace
}  // namespace spillway::sim::test
