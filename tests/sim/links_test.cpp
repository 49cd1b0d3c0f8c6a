#include "tests/sim/fixture.hpp"

namespace spillway::sim::test {
namespace {

using description::BytesPerSecond;
using description::Seconds;

TEST(SimPcie, IsFullDuplex) {
  run(one_gpu(), [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 20 * GB), b = on_gpu(machine, rank, 20 * GB);
    Buffer c = pinned(machine, rank, 20 * GB), d = pinned(machine, rank, 20 * GB);
    Op in = machine.copy(rank, a.view(), c.view());
    Op out = machine.copy(rank, d.view(), b.view());
    co_await in;
    co_await out;
    EXPECT_SECONDS(in, 1.0);  // 20 GB at 20 GB/s, both at once
    EXPECT_SECONDS(out, 1.0);
  });
}

TEST(SimPcie, APageableCopyIsSlowerAndLeavesTheRestToAPinnedOne) {
  run(one_gpu(), [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 8 * GB), b = on_gpu(machine, rank, 12 * GB);
    Buffer c = pageable(machine, rank, 8 * GB), d = pinned(machine, rank, 12 * GB);
    Op slow = machine.copy(rank, c.view(), a.view());
    Op fast = machine.copy(rank, d.view(), b.view());
    co_await slow;
    co_await fast;
    EXPECT_SECONDS(slow, 1.0);  // 8 GB at 8 GB/s
    EXPECT_SECONDS(fast, 1.0);  // 12 GB at 20 - 8
  });
}

TEST(SimPcie, EachCopyPaysTheLatency) {
  description::Scenario scenario = one_gpu();
  scenario.machine.pcie.latency = Seconds(10e-6);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 2'000'000), b = pinned(machine, rank, 2'000'000);
    Op copy = machine.copy(rank, a.view(), b.view());
    co_await copy;
    EXPECT_SECONDS(copy, 110e-6);  // 10 us + 2 MB / 20 GB/s
  });
}

TEST(SimPcie, AnOddNumberOfBytesIsExact) {
  run(one_gpu(), [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 5001), b = pinned(machine, rank, 5001);
    Op copy = machine.copy(rank, a.view(), b.view());
    co_await copy;
    EXPECT_SECONDS(copy, 5001 / 20e9);
  });
}

TEST(SimPcie, TheGpusDoNotShareTheirSlots) {
  run(with_ranks(2), [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 20 * GB), b = pinned(machine, rank, 20 * GB);
    Op copy = machine.copy(rank, a.view(), b.view());
    co_await copy;
    EXPECT_SECONDS(copy, 1.0);
  });
}

TEST(SimDram, IsSharedByWhateverCrossesIt) {
  description::Scenario scenario = one_gpu();
  scenario.machine.host.memory_rate = BytesPerSecond(30e9);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 10 * GB), b = on_gpu(machine, rank, 10 * GB);
    Buffer c = pinned(machine, rank, 10 * GB), d = pinned(machine, rank, 10 * GB);
    Op in = machine.copy(rank, a.view(), c.view());
    Op out = machine.copy(rank, d.view(), b.view());
    Op convert = machine.run(rank, cpu(CpuWork::convert, 0, 10 * GB));
    co_await in;
    co_await out;
    co_await convert;
    EXPECT_SECONDS(in, 1.0);  // 30 GB/s among three: 10 GB/s each
    EXPECT_SECONDS(out, 1.0);
    EXPECT_SECONDS(convert, 1.0);
  });
}

TEST(SimDram, IsLeftOutWhereItCannotFill) {
  description::Scenario scenario = one_gpu();
  // SSD 6, PCIe 20 + 20, CPU 80 (fused check)
  scenario.machine.host.memory_rate = BytesPerSecond(126e9);
  EXPECT_FALSE(dram_can_bind(scenario.machine, 1));
  scenario.machine.host.memory_rate = BytesPerSecond(125.9e9);
  EXPECT_TRUE(dram_can_bind(scenario.machine, 1));
}

TEST(SimCopies, OnTheGpuAndOnTheHostReadAndWriteTheirMemory) {
  run(one_gpu(), [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 100 * GB), b = on_gpu(machine, rank, 100 * GB);
    Buffer c = pinned(machine, rank, 100 * GB), d = pageable(machine, rank, 100 * GB);
    Op on_device = machine.copy(rank, a.view(), b.view());
    Op on_host = machine.copy(rank, c.view(), d.view());
    co_await on_device;
    co_await on_host;
    EXPECT_SECONDS(on_device, 0.2);  // 2 x 100 GB at 1000 GB/s
    EXPECT_SECONDS(on_host, 0.2);
  });
}

// ---- Collectives

description::Scenario four_peers() {
  description::Scenario scenario = with_ranks(4);
  scenario.machine.gpu.peer_rate = BytesPerSecond(10e9);
  scenario.machine.network.latency = Seconds(1e-3);
  return scenario;
}

double seconds_of(const description::Scenario& scenario, strategies::Collective what,
                  std::uint64_t bytes) {
  SimMachine machine(scenario, false);
  const std::uint32_t here = machine.topology().ranks;
  const std::uint64_t members = machine.topology().size(machine.topology().world());
  std::vector<double> seconds(here);
  const auto body = [](Machine& on, Rank rank, strategies::Collective kind, std::uint64_t whole,
                       std::uint64_t count, double* result) -> Task<> {
    const std::uint64_t shard = whole / count;
    const bool gathers = kind == strategies::Collective::all_gather;
    const bool scatters = kind == strategies::Collective::reduce_scatter;
    Buffer in = on_gpu(on, rank, gathers ? shard : whole);
    Buffer out = on_gpu(on, rank, scatters ? shard : whole);
    Op op = on.collective(rank, on.topology().world(), kind, in.view(), out.view());
    co_await op;
    *result = op.timing().seconds();
  };
  std::vector<Task<>> ranks;
  for (std::uint32_t i = 0; i < here; ++i)
    ranks.push_back(body(machine, Rank{i}, what, bytes, members, &seconds[i]));
  machine.run_ranks(std::move(ranks));
  for (const double each : seconds) EXPECT_EQ(each, seconds[0]);
  return seconds[0];
}

TEST(SimCollectives, RunAsARing) {
  using strategies::Collective;
  // 4 GB among 4: each sends 3 GB at 10 GB/s in 3 rounds of 1 ms
  EXPECT_NEAR(seconds_of(four_peers(), Collective::all_gather, 4 * GB), 0.303, 1e-6);
  EXPECT_NEAR(seconds_of(four_peers(), Collective::reduce_scatter, 4 * GB), 0.303, 1e-6);
  EXPECT_NEAR(seconds_of(four_peers(), Collective::all_reduce, 4 * GB), 0.606, 1e-6);
}

/// Of four cards two on each socket.
description::Scenario two_sockets() {
  description::Scenario scenario = four_peers();
  scenario.machine.gpu.count = 4;
  scenario.machine.host.sockets = 2;
  scenario.machine.host.socket_rate = BytesPerSecond(5e9);
  return scenario;
}

TEST(SimCollectives, OfCardsOnTwoSocketsCrossTheLinkBetweenThemOnceEachWay) {
  // each sends 3 GB: 1 to 2 and 3 to 0 over links of their own ways at 5 GB/s, in 3 rounds of 1 ms
  EXPECT_NEAR(seconds_of(two_sockets(), strategies::Collective::all_gather, 4 * GB), 0.603, 1e-6);
  description::Scenario one_socket = two_sockets();
  one_socket.machine.gpu.count = 8;  // the four in use are those of the first
  EXPECT_NEAR(seconds_of(one_socket, strategies::Collective::all_gather, 4 * GB), 0.303, 1e-6);
}

TEST(SimCollectives, AllToAllsCrossTheLinkBetweenSocketsWithHalfOfWhatTheySend) {
  // each of four sends 1 GB to each other: of two GPUs 4 GB cross at 5 GB/s, in a round of 1 ms
  EXPECT_NEAR(seconds_of(two_sockets(), strategies::Collective::all_to_all, 4 * GB), 0.801, 1e-6);
  description::Scenario one_socket = two_sockets();
  one_socket.machine.host.socket_rate.reset();
  EXPECT_NEAR(seconds_of(one_socket, strategies::Collective::all_to_all, 4 * GB), 0.301, 1e-6);
}

TEST(SimSend, SharesTheLinkBetweenSocketsWithOthersOfItsWay) {
  run(two_sockets(), [](Machine& machine, Rank rank) -> Task<> {
    const Rank peer{(rank.index + 2) % 4};  // 0 and 1 to 2 and 3, and back
    Buffer from = on_gpu(machine, rank, 5 * GB), into = on_gpu(machine, peer, 5 * GB);
    Op send = machine.send(rank, peer, from.view(), into.view());
    co_await send;
    EXPECT_SECONDS(send, 2.001);
  });
}

TEST(SimCollectives, OfOneMemberOrOfNothingAreOverAtOnce) {
  EXPECT_EQ(seconds_of(one_gpu(), strategies::Collective::all_reduce, GB), 0);
  EXPECT_EQ(seconds_of(four_peers(), strategies::Collective::all_gather, 0), 0);
}

TEST(SimCollectives, UseTheNodesOwnNetworkWhereGpusHaveNoLinks) {
  description::Scenario scenario = four_peers();
  scenario.machine.gpu.peer_rate.reset();
  scenario.machine.network.intra_node_per_gpu = BytesPerSecond(5e9);
  EXPECT_NEAR(seconds_of(scenario, strategies::Collective::all_gather, 4 * GB), 0.603, 1e-6);
}

TEST(SimCollectives, GoThroughPcieWhereThereIsNeitherAndShareItWithCopies) {
  run(with_ranks(2), [](Machine& machine, Rank rank) -> Task<> {
    Buffer shard = on_gpu(machine, rank, 10 * GB), all = on_gpu(machine, rank, 20 * GB);
    Buffer copied = on_gpu(machine, rank, 10 * GB), host = pinned(machine, rank, 10 * GB);
    Op gather = machine.collective(rank, machine.topology().world(),
                                   strategies::Collective::all_gather, shard.view(), all.view());
    Op copy = machine.copy(rank, copied.view(), host.view());
    co_await gather;
    co_await copy;
    EXPECT_SECONDS(gather, 1.0);  // each sends 10 GB; into each GPU 10 GB/s for it ..
    EXPECT_SECONDS(copy, 1.0);    // .. and 10 GB/s for the copy
  });
}

TEST(SimCollectives, AreStagedInHostMemoryWhereGpusHaveNoAccessToEachOther) {
  description::Scenario scenario = with_ranks(2);
  scenario.machine.network.latency = Seconds(0);
  scenario.machine.gpu.peer_access = false;
  const auto gather = [&] {
    return seconds_of(scenario, strategies::Collective::all_gather, 20 * GB);
  };
  EXPECT_NEAR(gather(), 0.5, 1e-6);  // each sends 10 GB over PCIe, out and in at once
  // and into DRAM and out of it: 4 x 10 GB at 60 GB/s
  scenario.machine.host.memory_rate = BytesPerSecond(60e9);
  EXPECT_NEAR(gather(), 4 * 10.0 / 60, 1e-6);
  scenario.machine.gpu.peer_rate = BytesPerSecond(5e9);
  EXPECT_NEAR(gather(), 2.0, 1e-6);
  scenario.machine.gpu.peer_rate = BytesPerSecond(200e9);  // bounds nothing, and is no other way
  EXPECT_NEAR(gather(), 4 * 10.0 / 60, 1e-6);
  scenario.machine.gpu.peer_access = true;
  EXPECT_NEAR(gather(), 10.0 / 200, 1e-6);
}

TEST(SimCollectives, ThatAreStagedShareDramWithCopies) {
  description::Scenario scenario = with_ranks(2);
  scenario.machine.gpu.peer_access = false;
  scenario.machine.host.memory_rate = BytesPerSecond(45e9);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Buffer shard = on_gpu(machine, rank, 9 * GB), all = on_gpu(machine, rank, 18 * GB);
    Buffer source = on_gpu(machine, rank, 9 * GB), host = pinned(machine, rank, 9 * GB);
    Op gather = machine.collective(rank, machine.topology().world(),
                                   strategies::Collective::all_gather, shard.view(), all.view());
    Op copy = machine.copy(rank, host.view(), source.view());
    co_await gather;
    co_await copy;
    // all four get one rate v: 2 (2 v + v) = 45 GB/s of DRAM, and 2 v < 20 of PCIe
    EXPECT_SECONDS(gather, 9 / 7.5);
    EXPECT_SECONDS(copy, 9 / 7.5);
  });
}

/// Two nodes of two GPUs; 30 GB/s inside, 10 GB/s between, hops of 1 ms.
description::Scenario two_nodes() {
  description::Scenario scenario = with_ranks(2);
  scenario.parallel.data = 4;
  scenario.machine.nodes = 2;
  scenario.machine.gpu.peer_rate = BytesPerSecond(30e9);
  scenario.machine.network.latency = Seconds(1e-3);
  return scenario;
}

TEST(SimCollectives, AcrossNodesTakeAsLongAsTheSlowerOfNicAndPeerLink) {
  using strategies::Collective;
  // 4 GB among 2 x 2: each sends 1.5 GB to its neighbour (50 ms) and 1.5 GB over its NIC in 3 hops
  EXPECT_NEAR(seconds_of(two_nodes(), Collective::all_gather, 4 * GB), 0.153, 1e-6);
  EXPECT_NEAR(seconds_of(two_nodes(), Collective::reduce_scatter, 4 * GB), 0.153, 1e-6);
  EXPECT_NEAR(seconds_of(two_nodes(), Collective::all_reduce, 4 * GB), 0.306, 1e-6);
  description::Scenario slow_inside = two_nodes();
  slow_inside.machine.gpu.peer_rate = BytesPerSecond(5e9);
  EXPECT_NEAR(seconds_of(slow_inside, Collective::all_gather, 4 * GB), 0.303, 1e-6);
}

TEST(SimCollectives, AcrossNodesReduceSmallTensorsOverATree) {
  // 4 MB: a ring takes 6 hops and 0.3 ms, a tree 2 x (1 + 1) hops and 4 MB over each NIC
  EXPECT_NEAR(seconds_of(two_nodes(), strategies::Collective::all_reduce, 4 * GB / 1000), 4.4e-3,
              1e-8);
}

TEST(SimCollectives, AcrossNodesCrossTheGpusPcieBesideItsCopies) {
  description::Scenario scenario = with_ranks(1);
  scenario.parallel.data = 2;
  scenario.machine.nodes = 2;
  scenario.machine.network.per_gpu = BytesPerSecond(20e9);
  run(scenario, [](Machine& machine, Rank rank) -> Task<> {
    Buffer shard = on_gpu(machine, rank, 10 * GB), all = on_gpu(machine, rank, 20 * GB);
    Buffer copied = on_gpu(machine, rank, 10 * GB), host = pinned(machine, rank, 10 * GB);
    Op gather = machine.collective(rank, machine.topology().world(),
                                   strategies::Collective::all_gather, shard.view(), all.view());
    Op copy = machine.copy(rank, copied.view(), host.view());
    co_await gather;
    co_await copy;
    EXPECT_SECONDS(gather, 1.0);  // 10 GB from the other node, 10 of 20 GB/s for it ..
    EXPECT_SECONDS(copy, 1.0);    // .. and 10 GB/s for the copy
  });
}

TEST(SimSend, TakesTheWayOfTheCollectives) {
  run(four_peers(), [](Machine& machine, Rank rank) -> Task<> {
    if (rank.index != 0) co_return;
    Buffer from = on_gpu(machine, Rank{0}, GB), into = on_gpu(machine, Rank{2}, GB);
    Op send = machine.send(Rank{0}, Rank{2}, from.view(), into.view());
    co_await send;
    EXPECT_SECONDS(send, 0.101);  // 1 ms + 1 GB at 10 GB/s
  });
}

}  // namespace
}  // namespace spillway::sim::test
