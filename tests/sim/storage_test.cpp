#include "tests/sim/fixture.hpp"

namespace spillway::sim::test {
namespace {

using description::Bytes;
using description::BytesPerSecond;
using description::Seconds;

TEST(SimStorage, ReadsAtItsReadRateAndWritesAtItsWriteRate) {
  run(one_gpu(), [](Machine& machine, Rank rank) -> Task<> {
    const std::uint64_t bytes = sectors(6 * GB);
    Stored extent = co_await machine.store(ssd, rank, Bytes(bytes), Purpose::optimizer_states);
    Buffer buffer = pinned(machine, rank, bytes);
    Op write = machine.write(rank, extent, {0, bytes}, buffer.view());
    co_await write;
    Op read = machine.read(rank, extent, {0, bytes}, buffer.view());
    co_await read;
    EXPECT_SECONDS(write, static_cast<double>(bytes) / 3e9);
    EXPECT_SECONDS(read, static_cast<double>(bytes) / 6e9);
  });
}

/// One read and one write of these sizes, started together.
struct Pair {
  Op read, write;
};
Task<> together(Machine& machine, Rank rank, std::uint64_t read_bytes, std::uint64_t write_bytes,
                Pair* result, TierId tier = TierId::pinned) {
  Stored from = co_await machine.store(ssd, rank, Bytes(read_bytes), Purpose::optimizer_states);
  Stored into = co_await machine.store(ssd, rank, Bytes(write_bytes), Purpose::optimizer_states);
  Buffer a = machine.allocate_now(tier, rank, Bytes(read_bytes), Purpose::workspace);
  Buffer b = machine.allocate_now(tier, rank, Bytes(write_bytes), Purpose::workspace);
  result->read = machine.read(rank, from, {0, read_bytes}, a.view());
  result->write = machine.write(rank, into, {0, write_bytes}, b.view());
  co_await result->read;
  co_await result->write;
}

TEST(SimStorage, ReadsAndWritesShareDeviceTimeUpToTheMixedEfficiency) {
  description::Scenario scenario = one_gpu();
  scenario.machine.storage[0].mixed_efficiency = 0.8;
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Pair pair;
    co_await together(machine, rank, 16 * GB, 8 * GB, &pair);
    // r = w, so reads take (1/6) / (1/6 + 1/3) = 1/3 of the time and 1 - .2 x 4 x 1/3 x 2/3 = .8222
    // is left of it: r/6 + w/3 = .8222, 1.6444 GB/s each. The write ends after 8/1.6444 s;
    // the read, alone and no longer mixed, moves its other 8 GB at 6 GB/s: 1.333 s more
    EXPECT_SECONDS(pair.write, 8 / (2 * (1 - 0.2 * 8 / 9)));
    EXPECT_SECONDS(pair.read, 8 / (2 * (1 - 0.2 * 8 / 9)) + 8.0 / 6);
  });
}

/// A read of 4 GB beside so many writes of 4 GB, on a drive that reads and writes 6 GB/s.
Task<> beside_writes(Machine& machine, Rank rank, std::uint64_t writes, Op* read) {
  const std::uint64_t bytes = sectors(4 * GB);
  std::vector<Stored> extents;
  std::vector<Buffer> buffers;
  std::vector<Op> all;
  for (std::uint64_t i = 0; i <= writes; ++i) {
    extents.push_back(co_await machine.store(ssd, rank, Bytes(bytes), Purpose::optimizer_states));
    buffers.push_back(pinned(machine, rank, bytes));
  }
  for (std::uint64_t i = 0; i <= writes; ++i)
    all.push_back(i == 0 ? machine.read(rank, extents[i], {0, bytes}, buffers[i].view())
                         : machine.write(rank, extents[i], {0, bytes}, buffers[i].view()));
  for (const Op& each : all) co_await each;
  *read = all.front();
}

TEST(SimStorage, AMixCostsMostWhereBothWaysTakeHalfOfTheTime) {
  // all transfers get 6 x efficiency / (1 + writes) GB/s; reads take x = 1 / (1 + writes) of the
  // time: 1/2, 1/4, 1/8; and 4x(1 - x) = 1, 3/4, 7/16
  for (const auto& [writes, mixing] : {std::pair{1, 1.0}, {3, 0.75}, {7, 0.4375}}) {
    description::Scenario scenario = one_gpu();
    scenario.strategy.io_engine = description::IoEngine::gds;
    scenario.machine.storage[0].write = scenario.machine.storage[0].read;
    scenario.machine.storage[0].mixed_efficiency = 0.8;
    run(scenario, [writes = writes, mixing = mixing](Machine& machine, Rank rank) -> Task<> {
      Op read;
      co_await beside_writes(machine, rank, writes, &read);
      EXPECT_NEAR(read.timing().seconds(), 4.0 * (1 + writes) / 6 / (1 - 0.2 * mixing), 1e-5);
    });
  }
}

TEST(SimStorage, AMixCanBeFasterThanEitherWay) {
  description::Scenario scenario = one_gpu();
  scenario.strategy.io_engine = description::IoEngine::gds;
  scenario.machine.storage[0].write = scenario.machine.storage[0].read;
  scenario.machine.storage[0].mixed_efficiency = 1.25;
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Op read;
    co_await beside_writes(machine, rank, 1, &read);
    EXPECT_NEAR(read.timing().seconds(), 4 / 3.75, 1e-5);  // r/6 + w/6 = 1.25
    co_await beside_writes(machine, rank, 3, &read);
    // x = 1/4: 1 + .25 x 3/4 = 1.1875, below 1 / (3/4), at which writes are as fast as alone
    EXPECT_NEAR(read.timing().seconds(), 4 / (6 * 1.1875 / 4), 1e-5);
  });
}

TEST(SimStorage, NoWayIsFasterThanAloneWhereTheOtherIsHeldUp) {
  description::Scenario scenario = one_gpu();
  scenario.machine.gpu.gpudirect = true;
  scenario.machine.storage[0].mixed_efficiency = 1.5;
  scenario.machine.pcie.d2h = BytesPerSecond(0.3e9);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Pair pair;
    co_await together(machine, rank, 6'144'000'000, 307'200'000, &pair, TierId::gpu);
    EXPECT_SECONDS(pair.write, 1.024);  // PCIe
    EXPECT_SECONDS(pair.read,
                   1.024);  // 6 GB/s, though 6/6 + .3/3 = 1.1 is less than the mix allows
  });
}

TEST(SimStorage, StaysExactWithManyInFlight) {
  description::Scenario scenario = with_ranks(64);
  scenario.machine.storage[0].mixed_efficiency = 0.87;
  scenario.machine.pcie.h2d = BytesPerSecond(100e9);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Pair pair;
    co_await together(machine, rank, 1'024'000'000, 1'024'000'000, &pair);
    // 64 reads and 64 writes of 1.024 GB: 64 x 1.024 x (1/6 + 1/3) over what is left at a third of
    // reads, 1 - .13 x 8/9; here with DRAM in the way
    EXPECT_SECONDS(pair.read, 64 * 1.024 * 0.5 / (1 - 0.13 * 8 / 9));
    EXPECT_SECONDS(pair.write, 64 * 1.024 * 0.5 / (1 - 0.13 * 8 / 9));
  });
}

TEST(SimStorage, ARemoteOneIsSimplexToo) {
  description::Scenario scenario = one_gpu();
  scenario.machine.storage[0].kind = description::StorageKind::remote;
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Pair pair;
    co_await together(machine, rank, 8 * GB, 8 * GB, &pair);
    // r/6 + w/3 = 1: 2 GB/s each
    EXPECT_SECONDS(pair.read, 4.0);
    EXPECT_SECONDS(pair.write, 4.0);
  });
}

/// Seconds of one transfer of `bytes`.
struct Alone {
  double read_s = 0, write_s = 0;
};
Task<> one_by_one(Machine& machine, Rank rank, std::uint64_t bytes, Alone* result) {
  Stored extent = co_await machine.store(ssd, rank, Bytes(bytes), Purpose::optimizer_states);
  Buffer buffer = pinned(machine, rank, bytes);
  Op write = machine.write(rank, extent, {0, bytes}, buffer.view());
  co_await write;
  Op read = machine.read(rank, extent, {0, bytes}, buffer.view());
  co_await read;
  *result = {read.timing().seconds(), write.timing().seconds()};
}

Alone alone(const description::Scenario& scenario, std::uint64_t bytes) {
  Alone result;
  SimMachine machine(scenario, false);
  std::vector<Task<>> ranks;
  ranks.push_back(one_by_one(machine, Rank{0}, bytes, &result));
  machine.run_ranks(std::move(ranks));
  return result;
}

TEST(SimStorage, DrivesAddUpToTheCapOfTheirArray) {
  for (const auto engine : {description::IoEngine::file, description::IoEngine::direct}) {
    description::Scenario scenario = one_gpu();
    scenario.strategy.io_engine = engine;
    scenario.machine.storage[0].count = 4;
    scenario.machine.storage[0].array_read = BytesPerSecond(10e9);
    const Alone seconds = alone(scenario, 24 * GB);
    EXPECT_NEAR(seconds.read_s, 2.4, 2.4e-6);  // 4 x 6 = 24, capped at 10
    EXPECT_NEAR(seconds.write_s, 2.0, 2e-6);   // 4 x 3 = 12, no cap
  }
}

TEST(SimStorage, ATransferOfOneSectorKeepsOneDriveBusy) {
  description::Scenario scenario = one_gpu();
  scenario.machine.storage[0].count = 4;
  EXPECT_NEAR(alone(scenario, 4096).read_s, 4096 / 6e9, 1e-12);
  EXPECT_NEAR(alone(scenario, 4 * 4096).read_s, 4 * 4096 / 24e9, 1e-12);
}

TEST(SimStorage, TheBusiestDriveOfASmallRequestBoundsIt) {
  description::Scenario scenario = one_gpu();
  scenario.machine.storage[0].count = 4;
  for (const auto engine : {description::IoEngine::file, description::IoEngine::direct}) {
    scenario.strategy.io_engine = engine;
    // 5 sectors on 4 drives: one has two of them
    EXPECT_NEAR(alone(scenario, 5 * 4096).read_s, 2 * 4096 / 6e9, 1e-12);
    EXPECT_NEAR(alone(scenario, 3 * 4096).write_s, 4096 / 3e9, 1e-12);
  }
  scenario.machine.storage[0].array_read = BytesPerSecond(10e9);  // a lower cap decides
  EXPECT_NEAR(alone(scenario, 5 * 4096).read_s, 5 * 4096 / 10e9, 1e-12);
}

TEST(SimStorage, ATransferOverAStripeTakesItsMembersTogether) {
  description::Scenario scenario = with_ranks(2);
  scenario.machine.storage.push_back(scenario.machine.storage[0]);
  scenario.machine.storage[1].name = "private";
  scenario.machine.storage[1].gpus = {0};
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    const std::uint64_t bytes = sectors(12 * GB) / 2 * 2;
    const StorageId home = machine.topology().home(rank);
    EXPECT_EQ(machine.topology().is_stripe(home), rank.index == 0);
    Stored from = co_await machine.store(home, rank, Bytes(bytes), Purpose::weights);
    Buffer buffer = pinned(machine, rank, bytes);
    Op read = machine.read(rank, from, {0, bytes}, buffer.view());
    co_await read;
    // rank 0 has 6 GB on each; rank 1 has 12 GB on the shared one, 18 in all there, at 6 GB/s:
    // 3 GB/s each until rank 0 is done after 2 s, and the other 6 GB alone
    EXPECT_NEAR(read.timing().seconds(), rank.index == 0 ? 2.0 : 3.0, 1e-4);
  });
}

TEST(SimStorage, EachTransferPaysLatencyAndAFileItsOverhead) {
  description::Scenario scenario = one_gpu();
  scenario.machine.storage[0].latency = Seconds(100e-6);
  scenario.machine.storage[0].file_overhead = Seconds(700e-6);
  const double bytes = static_cast<double>(sectors(3'000'000));
  const Alone file = alone(scenario, sectors(3'000'000));
  EXPECT_NEAR(file.read_s, 100e-6 + bytes / 6e9, 1e-9);
  EXPECT_NEAR(file.write_s, 800e-6 + bytes / 3e9, 1e-9);
  scenario.strategy.io_engine = description::IoEngine::direct;
  EXPECT_NEAR(alone(scenario, sectors(3'000'000)).write_s, 100e-6 + bytes / 3e9, 1e-9);
}

TEST(SimStorage, OneProcessReachesItsShareAndSeveralTheWhole) {
  for (const std::uint64_t ranks : {1, 2, 4}) {
    description::Scenario scenario = with_ranks(ranks);
    scenario.machine.storage[0].process_efficiency["file"] = 0.5;
    std::vector<Alone> seconds(ranks);
    SimMachine machine(scenario, false);
    std::vector<Task<>> bodies;
    for (std::uint32_t i = 0; i < ranks; ++i)
      bodies.push_back(one_by_one(machine, Rank{i}, sectors(3 * GB), &seconds[i]));
    machine.run_ranks(std::move(bodies));
    // 6 GB/s in all, 3 a process: 1 and 2 processes get 3 each, 4 get 1.5 each
    const double rate = ranks == 4 ? 1.5e9 : 3e9;
    for (const Alone& rank : seconds)
      EXPECT_NEAR(rank.read_s, static_cast<double>(sectors(3 * GB)) / rate, 4e-6) << ranks;
  }
}

TEST(SimStorage, AnotherEngineIsNotHeldToThatShare) {
  description::Scenario scenario = one_gpu();
  scenario.machine.storage[0].process_efficiency["file"] = 0.5;
  scenario.strategy.io_engine = description::IoEngine::direct;
  EXPECT_NEAR(alone(scenario, sectors(6 * GB)).read_s, 1.0, 2e-6);
}

TEST(SimStorage, WorkersOfATensorCacheHaveThatShareEachWay) {
  description::Scenario scenario = one_gpu();
  scenario.machine.storage[0].read = scenario.machine.storage[0].write = BytesPerSecond(6e9);
  scenario.machine.storage[0].process_efficiency["file"] = 0.5;
  const auto seconds = [&](description::ActivationPolicy policy) {
    scenario.strategy.activations.policy = policy;
    double of_both = 0;
    run(scenario, [&](Machine& machine, Rank rank) -> Task<> {
      Pair pair;
      co_await together(machine, rank, 8 * GB, 8 * GB, &pair);
      of_both = std::max(pair.read.timing().seconds(), pair.write.timing().seconds());
    });
    return of_both;
  };
  // 3 GB/s each way, of a drive of 6 GB/s in all; a process without them has 3 for both ways
  EXPECT_NEAR(seconds(description::ActivationPolicy::tensor_cache), 8.0 / 3, 1e-5);
  EXPECT_NEAR(seconds(description::ActivationPolicy::keep), 16.0 / 3, 1e-5);
}

TEST(SimStorage, AProcessSharesItsShareBetweenItsReadsAndWrites) {
  description::Scenario scenario = one_gpu();
  scenario.machine.storage[0].process_efficiency["file"] = 0.5;
  scenario.machine.storage[0].mixed_efficiency = 0.8;
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Pair pair;
    co_await together(machine, rank, 8 * GB, 8 * GB, &pair);
    // r/3 + w/1.5 = 1 - .2 x 8/9 = .8222 with r = w, reads a third of the time: .8222 GB/s each
    EXPECT_SECONDS(pair.read, 8 / (1 - 0.2 * 8 / 9));
    EXPECT_SECONDS(pair.write, 8 / (1 - 0.2 * 8 / 9));
  });
}

TEST(SimStorage, AFileSystemOfAllNodesGivesEachInUseItsPart) {
  description::Scenario scenario = one_gpu();
  scenario.machine.nodes = 8;
  scenario.parallel.data = 3;  // five nodes are idle
  scenario.machine.storage[0].shared_by_nodes = true;
  EXPECT_NEAR(alone(scenario, sectors(2 * GB)).read_s, 1.0, 2e-6);  // 6 / 3 = 2 GB/s
}

/// Storages `nvme` and `other` on one drive; the second reaches `read` and 1.5 GB/s of writes.
description::Scenario two_paths(BytesPerSecond read) {
  description::Scenario scenario = one_gpu();
  auto& storages = scenario.machine.storage;
  storages.push_back(storages[0]);
  storages[1].name = "other";
  storages[1].read = read;
  storages[1].write = BytesPerSecond(1.5e9);
  storages[0].device = storages[1].device = "nvme0n1";
  return scenario;
}

/// Reads from the first and, or else writes to, the second at once; seconds of both.
std::pair<double, double> both_paths(const description::Scenario& scenario, bool writes) {
  std::pair<double, double> seconds;
  run(scenario, [&seconds, writes](Machine& machine, Rank rank) -> Task<> {
    const std::uint64_t bytes = sectors(6 * GB);
    Stored first = co_await machine.store(ssd, rank, Bytes(bytes), Purpose::weights);
    Stored second = co_await machine.store(StorageId{1}, rank, Bytes(bytes), Purpose::weights);
    Buffer here = pinned(machine, rank, bytes), there = pinned(machine, rank, bytes);
    Op one = machine.read(rank, first, {0, bytes}, here.view());
    Op other = writes ? machine.write(rank, second, {0, bytes}, there.view())
                      : machine.read(rank, second, {0, bytes}, there.view());
    co_await one;
    co_await other;
    seconds = {one.timing().seconds(), other.timing().seconds()};
  });
  return seconds;
}

TEST(SimStorage, PathsToOneDeviceShareItsTime) {
  const auto alike = both_paths(two_paths(BytesPerSecond(6e9)), false);
  EXPECT_NEAR(alike.first, 2.0, 1e-5);  // 12 GB at 6 GB/s
  EXPECT_NEAR(alike.second, 2.0, 1e-5);
  // r/6 + r/3 = 1: 2 GB/s each
  const auto unlike = both_paths(two_paths(BytesPerSecond(3e9)), false);
  EXPECT_NEAR(unlike.first, 3.0, 1e-5);
  EXPECT_NEAR(unlike.second, 3.0, 1e-5);
}

TEST(SimStorage, PathsToOneDeviceMixReadsAndWrites) {
  // r/6 + w/1.5 = 1: 1.2 GB/s each
  const auto even = both_paths(two_paths(BytesPerSecond(6e9)), true);
  EXPECT_NEAR(even.first, 5.0, 1e-5);
  EXPECT_NEAR(even.second, 5.0, 1e-5);
  // reads a fifth of the time, 4 x 1/5 x 4/5 = .64: r/6 + w/1.5 = 1 - .2 x .64, 1.0464 GB/s each
  description::Scenario scenario = two_paths(BytesPerSecond(6e9));
  scenario.machine.storage[0].mixed_efficiency = 0.8;
  EXPECT_NEAR(both_paths(scenario, true).first, 5 / (1 - 0.2 * 0.64), 1e-5);
}

TEST(SimStorage, OneProcessReachesItsShareOfASharedDevice) {
  description::Scenario scenario = two_paths(BytesPerSecond(6e9));
  scenario.machine.storage[1].process_efficiency["file"] = 0.25;
  // the second path: .375 GB/s of writes, a quarter of its 1.5; the first has 3/4 of 6 GB/s left
  const auto seconds = both_paths(scenario, true);
  EXPECT_NEAR(seconds.second, 16.0, 1e-4);
  EXPECT_NEAR(seconds.first, 6 / 4.5, 1e-4);
}

TEST(SimStorage, PathsToTwoDevicesDoNotShare) {
  description::Scenario scenario = two_paths(BytesPerSecond(6e9));
  scenario.machine.storage[1].device = "nvme1n1";
  EXPECT_NEAR(both_paths(scenario, false).first, 1.0, 1e-5);
  scenario.machine.storage[0].device = scenario.machine.storage[1].device = "";
  EXPECT_NEAR(both_paths(scenario, false).first, 1.0, 1e-5);
}

description::Scenario with_gpudirect() {
  description::Scenario scenario = one_gpu();
  scenario.machine.gpu.gpudirect = true;
  scenario.machine.storage[0].read = BytesPerSecond(16e9);
  return scenario;
}

/// A read to GPU memory beside a copy to it.
Task<> read_beside_copy(Machine& machine, Rank rank, std::uint64_t bytes, Op* read, Op* copy) {
  Stored from = co_await machine.store(ssd, rank, Bytes(bytes), Purpose::weights);
  Buffer direct = on_gpu(machine, rank, bytes);
  Buffer host = pinned(machine, rank, bytes);
  Buffer copied = on_gpu(machine, rank, bytes);
  *read = machine.read(rank, from, {0, bytes}, direct.view());
  *copy = machine.copy(rank, copied.view(), host.view());
  co_await *read;
  co_await *copy;
}

TEST(SimStorage, AReadToTheGpuSharesPcieWithCopies) {
  run(with_gpudirect(), [](Machine& machine, Rank rank) -> Task<> {
    Op read, copy;
    co_await read_beside_copy(machine, rank, sectors(10 * GB), &read, &copy);
    EXPECT_NEAR(read.timing().seconds(), 1.0, 2e-6);  // 10 GB/s each of 20
    EXPECT_NEAR(copy.timing().seconds(), 1.0, 2e-6);
  });
}

TEST(SimStorage, WithALinkCapStorageAndCopiesShareThatAlone) {
  description::Scenario scenario = with_gpudirect();
  scenario.machine.pcie.link = BytesPerSecond(32e9);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Op read, copy;
    co_await read_beside_copy(machine, rank, sectors(16 * GB), &read, &copy);
    EXPECT_NEAR(read.timing().seconds(), 1.0, 2e-6);  // 16 of 32: its drive's own rate
    EXPECT_NEAR(copy.timing().seconds(), 1.0, 2e-6);  // the other 16, below its 20
  });
}

TEST(SimStorage, AWriteFromTheGpuDoesNotSlowCopiesToIt) {
  run(with_gpudirect(), [](Machine& machine, Rank rank) -> Task<> {
    Pair pair;
    co_await together(machine, rank, sectors(16 * GB), 0, &pair, TierId::gpu);
    EXPECT_NEAR(pair.read.timing().seconds(), 1.0, 2e-6);
    EXPECT_EQ(pair.write.timing().seconds(), 0);  // zero bytes
    const std::uint64_t bytes = sectors(3 * GB);
    Stored into = co_await machine.store(ssd, rank, Bytes(bytes), Purpose::activations);
    Buffer gpu = on_gpu(machine, rank, bytes), host = pinned(machine, rank, 20 * GB),
           copied = on_gpu(machine, rank, 20 * GB);
    Op write = machine.write(rank, into, {0, bytes}, gpu.view());
    Op copy = machine.copy(rank, copied.view(), host.view());
    co_await write;
    co_await copy;
    EXPECT_NEAR(write.timing().seconds(), 1.0, 2e-6);
    EXPECT_NEAR(copy.timing().seconds(), 1.0, 2e-6);
  });
}

/// One GPU beside two drives that compute, and take `start` before they do.
description::Scenario drives_that_compute(double start) {
  description::Scenario scenario = one_gpu();
  scenario.machine.storage[0].count = 2;
  scenario.machine.storage[0].near_storage =
      description::NearStorageSpec{BytesPerSecond(4e9), BytesPerSecond(2e9),
                                   description::ParamsPerSecond(0.5e9), Seconds(start)};
  return scenario;
}

TEST(SimStorage, NearStorageWorkReadsComputesAndWritesInTurn) {
  run(drives_that_compute(0), [](Machine& machine, Rank rank) -> Task<> {
    // two drives: 8 GB at 8 GB/s 1 s, 1 G elements at 1 G/s 1 s, 6 GB at 4 GB/s 1.5 s
    Op work = machine.run(rank, ssd, strategies::StorageKernel{1 * GB, 8 * GB, 6 * GB});
    co_await work;
    EXPECT_SECONDS(work, 3.5);
    // beside a read of 12 GB at 12 GB/s: both want the drives' time, 3.5 s + 1 s; equal shares
    // until the read has had its second
    const std::uint64_t bytes = sectors(12 * GB);
    Stored from = co_await machine.store(ssd, rank, Bytes(bytes), Purpose::weights);
    Buffer buffer = pinned(machine, rank, bytes);
    Op again = machine.run(rank, ssd, strategies::StorageKernel{1 * GB, 8 * GB, 6 * GB});
    Op read = machine.read(rank, from, {0, bytes}, buffer.view());
    co_await again;
    co_await read;
    EXPECT_NEAR(read.timing().seconds(), 2.0, 4e-6);
    EXPECT_NEAR(again.timing().seconds(), 4.5, 4e-6);
  });
}

TEST(SimStorage, ADriveThatComputesIsNoFasterWhereTheOthersAreIdle) {
  run(drives_that_compute(0.25), [](Machine& machine, Rank rank) -> Task<> {
    // one drive: 0.25 s, 4 GB at 4 GB/s, 0.5 G elements at 0.5 G/s, 2 GB at 2 GB/s
    const auto on_drive = [&](std::uint32_t drive) {
      return machine.run(rank, ssd, strategies::StorageKernel{GB / 2, 4 * GB, 2 * GB, drive});
    };
    Op alone = on_drive(1);
    co_await alone;
    EXPECT_SECONDS(alone, 3.25);
    Op first = on_drive(0), second = on_drive(1);
    co_await first;
    co_await second;
    EXPECT_SECONDS(first, 3.25);
    EXPECT_SECONDS(second, 3.25);
  });
}

TEST(SimStorage, WhatLiesOnOneDriveIsMovedAtThatDrivesRate) {
  run(drives_that_compute(0), [](Machine& machine, Rank rank) -> Task<> {
    const std::uint64_t bytes = sectors(6 * GB);
    Stored on_one = co_await machine.store(ssd, rank, Bytes(bytes), Purpose::weights, 1u);
    Stored on_both = co_await machine.store(ssd, rank, Bytes(bytes), Purpose::weights);
    Buffer buffer = pinned(machine, rank, bytes);
    for (const Stored* extent : {&on_one, &on_both}) {
      const double drives = extent == &on_one ? 1 : 2;
      Op write = machine.write(rank, *extent, {0, bytes}, buffer.view());
      co_await write;
      Op read = machine.read(rank, *extent, {0, bytes}, buffer.view());
      co_await read;
      EXPECT_SECONDS(write, static_cast<double>(bytes) / (drives * 3e9));
      EXPECT_SECONDS(read, static_cast<double>(bytes) / (drives * 6e9));
    }
  });
}

}  // namespace
}  // namespace spillway::sim::test
