#include "tests/sim/fixture.hpp"

#include "scenarios/description/errors.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <csignal>

namespace spillway::sim::test {
namespace {

using description::Bytes;

TEST(SimRun, ZeroBytesTakeNoTimeDespiteLatencies) {
  description::Scenario scenario = one_gpu();
  scenario.machine.pcie.latency = description::Seconds(1);
  scenario.machine.storage[0].latency = description::Seconds(1);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Stored extent = co_await machine.store(ssd, rank, Bytes(4096), Purpose::weights);
    Buffer gpu = on_gpu(machine, rank, 64), host = pinned(machine, rank, 64);
    Op copy = machine.copy(rank, gpu.view(0, 0), host.view(0, 0));
    Op read = machine.read(rank, extent, {0, 0}, host.view(0, 0));
    Op adam = machine.run(rank, cpu(CpuWork::adam, 0, 0));
    for (const Op& op : {copy, read, adam}) {
      co_await op;
      EXPECT_EQ(op.timing().finished_s, 0);
    }
  });
}

TEST(SimRun, AThousandSmallTransfersTakeAsLongAsOneLarge) {
  constexpr std::uint64_t piece = 1 << 20;
  run(one_gpu(), [](Machine& machine, Rank rank) -> Task<> {
    const std::uint64_t whole = 1000 * piece;
    Stored extent = co_await machine.store(ssd, rank, Bytes(whole), Purpose::weights);
    Buffer buffer = pinned(machine, rank, whole);
    std::vector<Op> pieces;
    for (std::uint64_t i = 0; i < 1000; ++i)
      pieces.push_back(
          machine.read(rank, extent, {i * piece, piece}, buffer.view(i * piece, piece)));
    for (const Op& op : pieces) co_await op;
    const double small = pieces.back().timing().finished_s;
    Op large = machine.read(rank, extent, {0, whole}, buffer.view());
    co_await large;
    EXPECT_NEAR(small, static_cast<double>(whole) / 6e9, 1e-6 * small);
    EXPECT_NEAR(large.timing().seconds(), small, 1e-6 * small);
  });
}

TEST(SimRun, WhatEndsAtOneInstantIsFinishedInStartOrder) {
  std::vector<int> order;
  SimMachine machine(with_ranks(3), false);
  const auto body = [](Machine& on, Rank rank, std::vector<int>* seen) -> Task<> {
    // rank 0: a kernel of 1 s; 1: a copy of 20 GB at 20 GB/s; 2: a send of nothing but time: a
    // kernel
    if (rank.index == 1) {
      Buffer a = on_gpu(on, rank, 20 * GB), b = pinned(on, rank, 20 * GB);
      co_await on.copy(rank, a.view(), b.view());
    } else {
      const GpuKernel kernel = matmul(100e12, 0);
      co_await on.run(rank, std::span(&kernel, 1));
    }
    seen->push_back(static_cast<int>(rank.index));
  };
  std::vector<Task<>> ranks;
  for (std::uint32_t i = 0; i < 3; ++i) ranks.push_back(body(machine, Rank{i}, &order));
  machine.run_ranks(std::move(ranks));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(SimRun, EqualTransfersResumeTheirWaitersInStartOrder) {
  std::vector<int> order;
  SimMachine machine(with_ranks(8), false);
  const auto body = [](Machine& on, Rank rank, std::vector<int>* seen) -> Task<> {
    Stored extent = co_await on.store(ssd, rank, Bytes(1 << 20), Purpose::weights);
    Buffer buffer = pinned(on, rank, 1 << 20);
    co_await on.read(rank, extent, {0, 1 << 20}, buffer.view());
    seen->push_back(static_cast<int>(rank.index));
  };
  std::vector<Task<>> ranks;
  for (std::uint32_t i = 0; i < 8; ++i) ranks.push_back(body(machine, Rank{i}, &order));
  machine.run_ranks(std::move(ranks));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(SimRun, ATierTakesExactlyItsCapacityAndOneByteMoreWaits) {
  description::Scenario scenario = one_gpu();
  scenario.machine.host.memory = Bytes(1 << 20);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Buffer all = pinned(machine, rank, 1 << 20);
    EXPECT_EQ(machine.usage(TierId::pinned, rank).free, 0);
    EXPECT_THROW(pageable(machine, rank, 1), strategies::OutOfMemory);
    all.reset();
    EXPECT_EQ(machine.usage(TierId::pinned, rank).free, 1 << 20);
    EXPECT_THROW(pageable(machine, rank, (1 << 20) + 1), strategies::OutOfMemory);
    co_return;
  });
}

/// Ranks that are in the middle of everything: read, copy, kernels, an allocation that waits.
Task<> busy(Machine& machine, Rank rank) {
  Stored extent = co_await machine.store(ssd, rank, Bytes(sectors(GB)), Purpose::weights);
  Buffer host = pinned(machine, rank, sectors(GB)), gpu = on_gpu(machine, rank, sectors(GB));
  const GpuKernel kernel = matmul(50e12, 0);
  for (int round = 0; round < 1000; ++round) {
    Op read = machine.read(rank, extent, {0, sectors(GB)}, host.view());
    Op copy = machine.copy(rank, gpu.view(), host.view(), read);
    Op work = machine.run(rank, std::span(&kernel, 1), copy);
    co_await work;
  }
}

TEST(SimRun, OutOfMemoryInOneRankUnwindsTheOthersAndGivesAllBack) {
  description::Scenario scenario = with_ranks(4);
  scenario.machine.host.memory = Bytes(10 * GB);
  scenario.machine.pcie.latency = description::Seconds(10e-6);
  SimMachine machine(scenario, false);
  const auto failing = [](Machine& on, Rank rank) -> Task<> {
    const GpuKernel kernel = matmul(230e12, 0);
    co_await on.run(rank, std::span(&kernel, 1));
    Buffer too_much = pinned(on, rank, 100 * GB);
  };
  const auto waiting = [](Machine& on, Rank rank) -> Task<> {
    Buffer most = pinned(on, rank, 6 * GB);
    std::vector<strategies::Wanted> more{{Bytes(6 * GB), Purpose::workspace}};
    const std::vector<Buffer> never = co_await on.allocate(TierId::pinned, rank, std::move(more));
  };
  std::vector<Task<>> ranks;
  ranks.push_back(busy(machine, Rank{0}));
  ranks.push_back(failing(machine, Rank{1}));
  ranks.push_back(busy(machine, Rank{2}));
  ranks.push_back(waiting(machine, Rank{3}));
  EXPECT_THROW(machine.run_ranks(std::move(ranks)), strategies::OutOfMemory);
  EXPECT_EQ(machine.usage(TierId::pinned, Rank{0}).used, 0);
  EXPECT_EQ(machine.usage(ssd).used, 0);
  // the machine is as new: nothing of the cancelled transfers slows a fresh one
  Op copy;
  const auto fresh = [](Machine& on, Op* op) -> Task<> {
    Buffer a = on_gpu(on, Rank{0}, 2 * GB), b = pinned(on, Rank{0}, 2 * GB);
    *op = on.copy(Rank{0}, a.view(), b.view());
    co_await *op;
  };
  std::vector<Task<>> again;
  again.push_back(fresh(machine, &copy));
  machine.run_ranks(std::move(again));
  EXPECT_SECONDS(copy, 0.1 + 10e-6);
}

TEST(SimRun, AnAllocationThatNobodyCanServeIsOutOfMemory) {
  description::Scenario scenario = one_gpu();
  scenario.machine.host.memory = Bytes(GB);
  EXPECT_THROW(run(scenario,
                   [](Machine& machine, Rank rank) -> Task<> {
                     Buffer most = pinned(machine, rank, GB / 2 + 4096);
                     std::vector<strategies::Wanted> more{{Bytes(GB / 2), Purpose::workspace}};
                     const std::vector<Buffer> never =
                         co_await machine.allocate(TierId::pinned, rank, std::move(more));
                   }),
               strategies::OutOfMemory);
}

/// Finish times of a mix that shares, contends and ties, digit for digit.
std::vector<double> mixed_run() {
  description::Scenario scenario = with_ranks(4);
  scenario.machine.storage[0].mixed_efficiency = 0.87;
  scenario.machine.storage[0].latency = description::Seconds(85e-6);
  scenario.machine.pcie.latency = description::Seconds(10e-6);
  scenario.machine.host.memory_rate = description::BytesPerSecond(100e9);
  SimMachine machine(scenario, false);
  std::vector<double> times;
  const auto body = [](Machine& on, Rank rank, std::vector<double>* seen) -> Task<> {
    const std::uint64_t bytes = sectors(100'000'000 + rank.index * 30'000'000);
    Stored extent = co_await on.store(ssd, rank, Bytes(bytes), Purpose::optimizer_states);
    Buffer host = pinned(on, rank, bytes), gpu = on_gpu(on, rank, bytes);
    for (int i = 0; i < 20; ++i) {
      Op read = on.read(rank, extent, {0, bytes}, host.view());
      Op copy = on.copy(rank, gpu.view(), host.view(), read);
      Op adam = on.run(rank, cpu(CpuWork::adam, bytes / 14, 2 * bytes), read);
      Op write = on.write(rank, extent, {0, bytes}, host.view(), {copy, adam});
      co_await write;
      for (const Op& op : {read, copy, adam, write}) seen->push_back(op.timing().finished_s);
    }
  };
  std::vector<Task<>> ranks;
  for (std::uint32_t i = 0; i < 4; ++i) ranks.push_back(body(machine, Rank{i}, &times));
  machine.run_ranks(std::move(ranks));
  return times;
}

TEST(SimRun, TheSecondMachineOfAProcessGivesTheSameBits) {
  const std::vector<double> first = mixed_run();
  ASSERT_EQ(first.size(), 320);
  EXPECT_GT(first.back(), 1.0);
  EXPECT_EQ(mixed_run(), first);
}

/// Seconds of one read, copy, product and Adam of a second each.
std::vector<double> seconds_with(double jitter, std::uint64_t seed) {
  description::Scenario scenario = one_gpu();
  scenario.run.jitter = jitter;
  scenario.run.seed = seed;
  std::vector<double> seconds;
  run(scenario, [&seconds](Machine& machine, Rank rank) -> Task<> {
    const std::uint64_t bytes = sectors(6 * GB);
    Stored extent = co_await machine.store(ssd, rank, Bytes(bytes), Purpose::weights);
    Buffer host = pinned(machine, rank, 20 * GB), gpu = on_gpu(machine, rank, 20 * GB);
    for (int i = 0; i < 4; ++i) {
      std::vector<strategies::GpuKernel> kernels{matmul(100e12, 1)};
      Op op = i == 0   ? machine.read(rank, extent, {0, bytes}, host.view(0, bytes))
              : i == 1 ? machine.copy(rank, gpu.view(), host.view())
              : i == 2 ? machine.run(rank, std::move(kernels))
                       : machine.run(rank, cpu(CpuWork::adam, GB, 28 * GB));
      co_await op;
      seconds.push_back(op.timing().seconds());
    }
  });
  return seconds;
}

TEST(SimRun, JitterStretchesEachOperationByTheSeed) {
  for (const double each : seconds_with(0, 1)) EXPECT_NEAR(each, 1, 1e-6);
  const std::vector<double> some = seconds_with(0.1, 1);
  for (const double each : some) {
    EXPECT_NEAR(each, 1, 0.1 + 1e-6);
    EXPECT_GT(std::abs(each - 1), 1e-4);
  }
  EXPECT_NE(some[0], some[1]);
  EXPECT_EQ(seconds_with(0.1, 1), some);
  EXPECT_NE(seconds_with(0.1, 2), some);
}

TEST(SimRun, AForkedChildGivesTheSameBits) {
  const std::vector<double> here = mixed_run();
  prepare_engine();
  for (int child = 0; child < 2; ++child) {
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    const pid_t process = fork();
    if (process == 0) {
      const std::vector<double> there = mixed_run();
      const bool sent = write(pipe_ends[1], there.data(), there.size() * sizeof(double)) ==
                        static_cast<ssize_t>(there.size() * sizeof(double));
      _exit(sent ? 0 : 1);
    }
    close(pipe_ends[1]);
    std::vector<double> there(here.size());
    EXPECT_EQ(read(pipe_ends[0], there.data(), there.size() * sizeof(double)),
              static_cast<ssize_t>(there.size() * sizeof(double)));
    close(pipe_ends[0]);
    int status = -1;
    waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(there, here);
  }
}

TEST(SimRun, LeavesTheProcessItsSignalHandlers) {
  struct sigaction before {};
  sigaction(SIGINT, nullptr, &before);
  const auto terminate = std::get_terminate();
  mixed_run();
  mixed_run();
  struct sigaction after {};
  sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  EXPECT_EQ(std::get_terminate(), terminate);
}

TEST(SimRun, OneMachineAtATime) {
  SimMachine first(one_gpu(), false);
  EXPECT_THROW(SimMachine(one_gpu(), false), description::InternalError);
}

}  // namespace
}  // namespace spillway::sim::test
