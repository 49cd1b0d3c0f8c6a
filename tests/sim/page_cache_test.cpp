#include "sim/page_cache.hpp"

#include "tests/sim/fixture.hpp"

namespace spillway::sim::test::page_cache_test {
namespace {

using description::Bytes;
using description::BytesPerSecond;

const int one_file = 0, other_file = 0;

TEST(PageCache, HasWhatWasReadUntilOthersNeedItsRoom) {
  PageCache cache(0.1, 0.2);
  EXPECT_EQ(cache.read(&one_file, 0, 60, 100), 0);
  EXPECT_EQ(cache.read(&one_file, 0, 60, 100), 60);
  EXPECT_EQ(cache.read(&one_file, 30, 60, 100), 30);  // the half of it that was there
  EXPECT_EQ(cache.read(&other_file, 0, 60, 100), 0);  // 60 + 60 > 100: the oldest leaves
  EXPECT_EQ(cache.held(), 60);
  EXPECT_EQ(cache.read(&one_file, 30, 60, 100), 0);
}

TEST(PageCache, KeepsWhatNoStorageHasYet) {
  PageCache cache(0.1, 0.2);
  EXPECT_EQ(cache.write(&one_file, 0, 15, {{0, 15}}, 100), 0);
  EXPECT_EQ(cache.write(&one_file, 15, 15, {{0, 15}}, 100), 10);  // 30 - 0.2 x 100
  EXPECT_EQ(cache.read(&other_file, 0, 90, 100), 0);              // both stay: 120 are held
  EXPECT_EQ(cache.read(&one_file, 0, 15, 100), 15);
  // the oldest first, as long as more than 10 are unwritten
  EXPECT_EQ(cache.next(0, 8, 100), 8);
  cache.written(0, 8);
  EXPECT_EQ(cache.next(0, 8, 100), 7);
  cache.written(0, 7);
  EXPECT_EQ(cache.next(0, 8, 100), 8);
  EXPECT_EQ(cache.next(1, 8, 100), 0);  // another storage has nothing to get
  cache.written(0, 8);
  EXPECT_EQ(cache.unwritten(), 7);
  EXPECT_EQ(cache.next(0, 8, 100), 0);
  EXPECT_EQ(cache.next(0, 8, 50), 7);  // where there is less room, sooner
  EXPECT_EQ(cache.written_back(), 23);
}

TEST(PageCache, ForgetsAFileThatIsNoMore) {
  PageCache cache(0.1, 0.2);
  EXPECT_EQ(cache.write(&one_file, 0, 50, {{0, 50}}, 100), 30);
  cache.forget(&one_file);
  EXPECT_EQ(cache.unwritten(), 0);
  EXPECT_EQ(cache.held(), 0);
  EXPECT_EQ(cache.next(0, 8, 100), 0);
  EXPECT_EQ(cache.written_back(), 50);  // who waited for it goes on
}

const std::uint64_t six = sectors(6 * GB);
constexpr double six_s = 6.0;

/// 6 GB/s of drive to read and 3 to write, a thread of `thread` GB/s, `room` GB for pages beside
/// two buffers of 6 GB.
description::Scenario buffered(double thread, std::uint64_t room) {
  description::Scenario scenario = one_gpu();
  scenario.strategy.io_engine = description::IoEngine::buffered;
  description::HostSpec& host = scenario.machine.host;
  host.page_cache = BytesPerSecond(thread * 1e9);
  host.dirty_background = 0.1;
  host.dirty_limit = 0.2;
  host.memory = Bytes(room * GB + 2 * six);
  return scenario;
}

TEST(SimPageCache, AFileThatFitsNeedsNoDrive) {
  run(buffered(12, 100), [](Machine& machine, Rank rank) -> Task<> {
    Stored file = co_await machine.store(ssd, rank, Bytes(six), Purpose::optimizer_states);
    Buffer buffer = pinned(machine, rank, six), beside = pinned(machine, rank, six);
    // 6 GB by a thread of 12 GB/s, where the drive would take 2 s; 6 of 100 GB are unwritten
    Op write = machine.write(rank, file, {0, six}, buffer.view());
    co_await write;
    EXPECT_NEAR(write.timing().seconds(), six_s / 12, 1e-4);
    Op read = machine.read(rank, file, {0, six}, buffer.view());
    co_await read;
    EXPECT_NEAR(read.timing().seconds(), six_s / 12, 1e-4);
  });
}

TEST(SimPageCache, WhatIsNotThereComesAtTheDrivesRate) {
  run(buffered(12, 10), [](Machine& machine, Rank rank) -> Task<> {
    Stored one = co_await machine.store(ssd, rank, Bytes(six), Purpose::weights);
    Stored other = co_await machine.store(ssd, rank, Bytes(six), Purpose::weights);
    Buffer buffer = pinned(machine, rank, six), beside = pinned(machine, rank, six);
    // 6 GB at 6 GB/s, and half of that from the cache; the second evicts the first: 12 GB > 10 GB
    const std::pair<const Stored*, double> reads[] = {
        {&one, 1}, {&one, 0.5}, {&other, 1}, {&other, 0.5}, {&one, 1}};
    for (const auto& [file, seconds] : reads) {
      Op read = machine.read(rank, *file, {0, six}, buffer.view());
      co_await read;
      EXPECT_NEAR(read.timing().seconds(), seconds, 1e-4);
    }
  });
}

TEST(SimPageCache, AWriteWaitsOnceTooMuchIsUnwritten) {
  run(buffered(6, 10), [](Machine& machine, Rank rank) -> Task<> {
    Stored file = co_await machine.store(ssd, rank, Bytes(six), Purpose::optimizer_states);
    Buffer buffer = pinned(machine, rank, six), beside = pinned(machine, rank, six);
    // copied in 1 s; of 6 GB 0.2 x 10 may stay unwritten, so 4 GB go out first, at 3 GB/s and in
    // pieces of 128 MiB: 30 of them are 4.027 GB
    Op write = machine.write(rank, file, {0, six}, buffer.view());
    co_await write;
    EXPECT_NEAR(write.timing().seconds(), 1 + 30 * 0.134217728 / 3, 1e-3);
  });
}

TEST(SimPageCache, OneThreadOfARankCopiesEverything) {
  run(buffered(6, 100), [](Machine& machine, Rank rank) -> Task<> {
    Stored one = co_await machine.store(ssd, rank, Bytes(six), Purpose::optimizer_states);
    Stored other = co_await machine.store(ssd, rank, Bytes(six), Purpose::optimizer_states);
    Buffer a = pinned(machine, rank, six), b = pinned(machine, rank, six);
    Op first = machine.write(rank, one, {0, six}, a.view());
    Op second = machine.write(rank, other, {0, six}, b.view());
    co_await first;
    co_await second;
    EXPECT_NEAR(first.timing().seconds(), 2, 1e-3);  // each has half of 6 GB/s
    EXPECT_NEAR(second.timing().seconds(), 2, 1e-3);
  });
}

}  // namespace
}  // namespace spillway::sim::test::page_cache_test
