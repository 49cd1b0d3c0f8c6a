#include "tests/sim/fixture.hpp"

#include "strategies/bounds/bounds.hpp"

namespace spillway::sim::test {
namespace {

using description::BytesPerSecond;
using strategies::Collective;
using strategies::GpuStream;

/// A box whose GPUs are threads of the host: 10 cores, 100 TFLOPS and 100 GB/s a kernel, 1000 GB/s
/// of DRAM, copies of 20 GB/s, Adam 1 G parameters/s.
description::Scenario host_devices(std::uint64_t ranks, std::uint64_t cores = 10) {
  description::Scenario scenario = with_ranks(ranks);
  scenario.machine.gpu.shares_host = true;
  scenario.machine.gpu.memory_rate = BytesPerSecond(100e9);
  scenario.machine.host.cores = cores;
  return scenario;
}

Op product(Machine& machine, Rank rank, double seconds, GpuStream stream = GpuStream::compute) {
  const GpuKernel kernel = matmul(seconds * 100e12, 0);
  return machine.run(rank, std::span(&kernel, 1), {}, stream);
}

TEST(SharedHost, AKernelAloneTakesItsTime) {
  run(host_devices(1), [](Machine& machine, Rank rank) -> Task<> {
    Op kernel = product(machine, rank, 1);
    co_await kernel;
    EXPECT_SECONDS(kernel, 1.0);
    Op adam = machine.run(rank, cpu(CpuWork::adam, GB, 28 * GB));
    co_await adam;
    EXPECT_SECONDS(adam, 1.0);
  });
}

TEST(SharedHost, AsManyStreamsAsCoresLeaveEachOtherAlone) {
  run(host_devices(10), [](Machine& machine, Rank rank) -> Task<> {
    Op kernel = product(machine, rank, 1);
    co_await kernel;
    EXPECT_SECONDS(kernel, 1.0);
  });
}

TEST(SharedHost, MoreStreamsThanCoresTakeTurns) {
  run(host_devices(3, 2), [](Machine& machine, Rank rank) -> Task<> {
    Op kernel = product(machine, rank, 1);
    co_await kernel;
    EXPECT_SECONDS(kernel, 1.5);  // three threads on two cores
  });
}

TEST(SharedHost, CpuWorkAndAKernelSlowDownAlike) {
  // 10 threads of Adam and one of the kernel on 10 cores: each at 10/11. Adam has 10 G parameters.
  run(host_devices(1), [](Machine& machine, Rank rank) -> Task<> {
    Op adam = machine.run(rank, cpu(CpuWork::adam, 10 * GB, 280 * GB));
    Op kernel = product(machine, rank, 1);
    co_await kernel;
    EXPECT_SECONDS(kernel, 1.1);
    co_await adam;
    EXPECT_SECONDS(adam, 10.1);  // 1 of 1.1 s done meanwhile, then 9 s alone
  });
}

TEST(SharedHost, OnOneCoreCpuWorkAndAKernelHalveEachOther) {
  run(host_devices(1, 1), [](Machine& machine, Rank rank) -> Task<> {
    Op convert = machine.run(rank, cpu(CpuWork::convert, 0, 50 * GB));  // 1 s alone
    Op kernel = product(machine, rank, 1);
    co_await kernel;
    EXPECT_SECONDS(kernel, 2.0);
    co_await convert;
    EXPECT_SECONDS(convert, 2.0);
  });
}

TEST(SharedHost, StreamsOfOneGpuAreThreadsOfTheirOwn) {
  run(host_devices(1, 2), [](Machine& machine, Rank rank) -> Task<> {
    Op pass = product(machine, rank, 1);
    Op side = product(machine, rank, 1, GpuStream::side);
    co_await pass;
    EXPECT_SECONDS(pass, 1.0);
    co_await side;
    EXPECT_SECONDS(side, 1.0);
  });
}

TEST(SharedHost, ACopyIsAThreadThatReadsAndWritesDram) {
  description::Scenario scenario = host_devices(1);
  scenario.machine.host.memory_rate = BytesPerSecond(30e9);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 20 * GB), b = pinned(machine, rank, 20 * GB);
    Op up = machine.copy(rank, a.view(), b.view());
    co_await up;
    EXPECT_SECONDS(up, 40.0 / 30);  // 40 GB of traffic, where the thread alone would need 1 s
  });
}

TEST(SharedHost, CopiesHoldACore) {
  run(host_devices(1, 1), [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 20 * GB), b = pinned(machine, rank, 20 * GB);
    Op up = machine.copy(rank, a.view(), b.view());  // 1 s alone
    Op kernel = product(machine, rank, 1);
    co_await up;
    EXPECT_SECONDS(up, 2.0);
    co_await kernel;
    EXPECT_SECONDS(kernel, 2.0);
  });
}

TEST(SharedHost, APageableCopyHoldsItsCoreForLonger) {
  run(host_devices(1, 1), [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 8 * GB), b = pageable(machine, rank, 8 * GB);
    Op down = machine.copy(rank, b.view(), a.view());  // 8 GB/s: 1 s alone
    Op kernel = product(machine, rank, 3);
    co_await down;
    EXPECT_SECONDS(down, 2.0);
    co_await kernel;
    EXPECT_SECONDS(kernel, 4.0);
  });
}

TEST(SharedHost, MemoryBoundKernelsShareDram) {
  description::Scenario scenario = host_devices(4);
  scenario.machine.host.memory_rate = BytesPerSecond(200e9);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    GpuKernel kernel = matmul(0, 100e9);  // 1 s at 100 GB/s
    kernel.matrix = false;
    Op op = machine.run(rank, std::span(&kernel, 1));
    co_await op;
    EXPECT_SECONDS(op, 2.0);  // 4 x 100 GB at 200 GB/s
  });
}

TEST(SharedHost, ACopyOnTheGpuIsAKernelOfTheHost) {
  run(host_devices(1, 1), [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 50 * GB), b = on_gpu(machine, rank, 50 * GB);
    Op kernel = product(machine, rank, 1);
    Op copy = machine.copy(rank, a.view(), b.view());  // 100 GB at 100 GB/s: 1 s alone
    co_await copy;
    EXPECT_SECONDS(copy, 2.0);
    co_await kernel;
  });
}

TEST(SharedHost, OneThreadDoesACollectiveForAll) {
  description::Scenario scenario = host_devices(2);
  scenario.machine.gpu.peer_rate = BytesPerSecond(10e9);
  scenario.machine.network.latency = description::Seconds(0);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Buffer in = on_gpu(machine, rank, 10 * GB), out = on_gpu(machine, rank, 20 * GB);
    Op gather = machine.collective(rank, machine.topology().world(), Collective::all_gather,
                                   in.view(), out.view());
    co_await gather;
    EXPECT_SECONDS(gather, 2.0);  // each sends 10 GB; 20 GB at 10 GB/s
  });
}

/// Something of everything at once.
Task<> a_bit_of_all(Machine& machine, Rank rank) {
  Stored extent =
      co_await machine.store(ssd, rank, description::Bytes(sectors(3 * GB)), Purpose::weights);
  Buffer a = on_gpu(machine, rank, 10 * GB), b = pinned(machine, rank, 10 * GB);
  Buffer c = pageable(machine, rank, 4 * GB), all = on_gpu(machine, rank, 20 * GB);
  Buffer d = pinned(machine, rank, 3 * GB), e = on_gpu(machine, rank, 4 * GB);
  std::vector<Op> ops{machine.copy(rank, a.view(), b.view()),
                      machine.copy(rank, c.view(), e.view()),
                      machine.read(rank, extent, {0, sectors(3 * GB)}, d.view(0, sectors(3 * GB))),
                      product(machine, rank, 0.5),
                      product(machine, rank, 0.25, GpuStream::side),
                      machine.run(rank, cpu(CpuWork::adam, GB, 28 * GB)),
                      machine.run(rank, cpu(CpuWork::check_chained, 0, 5 * GB))};
  ops.push_back(machine.collective(rank, machine.topology().world(), Collective::all_gather,
                                   a.view(), all.view(), ops.front()));
  for (const Op& op : ops) co_await op;
}

TEST(SharedHost, NothingIsFasterThanTheBounds) {
  for (const std::uint64_t cores : {1, 2, 16})
    for (const bool own_peer_rate : {true, false}) {
      description::Scenario scenario = host_devices(2, cores);
      scenario.machine.host.memory_rate = BytesPerSecond(60e9);
      if (own_peer_rate) scenario.machine.gpu.peer_rate = BytesPerSecond(30e9);
      strategies::CountingMachine counting(scenario);
      SimMachine simulated(scenario, false);
      double end_s = 0;
      for (Machine* machine :
           {static_cast<Machine*>(&counting), static_cast<Machine*>(&simulated)}) {
        const auto body = [](Machine& on, Rank rank, double* end) -> Task<> {
          co_await a_bit_of_all(on, rank);
          Op last = product(on, rank, 1e-9);
          co_await last;
          *end = std::max(*end, last.timing().finished_s);
        };
        std::vector<Task<>> ranks;
        for (std::uint32_t i = 0; i < 2; ++i) ranks.push_back(body(*machine, Rank{i}, &end_s));
        machine->run_ranks(std::move(ranks));
      }
      const double bound = strategies::bounds_of(counting.demands().front(), scenario).step();
      EXPECT_GT(bound, 1.0);  // two Adams of 1 s share the cores
      EXPECT_GE(end_s, bound * (1 - 1e-9)) << cores << " cores";
    }
}

TEST(SharedHost, KernelsThatShareAreLoggedAsLongAsTheyTook) {
  description::Scenario scenario = host_devices(1, 1);
  SimMachine machine(scenario, true);
  const auto body = [](Machine& on, Rank rank) -> Task<> {
    Op convert = on.run(rank, cpu(CpuWork::convert, 0, 50 * GB));
    const std::vector<GpuKernel> both{matmul(25e12, 0), matmul(75e12, 0)};
    Op kernels = on.run(rank, both);
    co_await kernels;
    co_await convert;
  };
  std::vector<Task<>> ranks;
  ranks.push_back(body(machine, Rank{0}));
  machine.run_ranks(std::move(ranks));
  std::vector<double> ends;
  for (const result::TraceSpan& span : machine.recorder().trace().spans)
    if (span.name == "matmul") ends.push_back(span.end_s);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_NEAR(ends[0], 0.5, 1e-6);
  EXPECT_NEAR(ends[1], 2.0, 1e-6);
}

}  // namespace
}  // namespace spillway::sim::test
