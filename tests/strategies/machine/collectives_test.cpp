#include "strategies/machine/collectives.hpp"

#include <gtest/gtest.h>

namespace spillway::strategies {
namespace {

/// `local` members on each of `nodes` nodes; peers at 100 GB/s, NICs at 10 GB/s, hops of 1 ms.
Topology cluster(std::uint32_t local, std::uint32_t nodes) {
  Topology topology;
  topology.ranks = local;
  topology.nodes = nodes;
  topology.groups.resize(1);
  for (std::uint32_t rank = 0; rank < local; ++rank) topology.groups[0].push_back(Rank{rank});
  topology.group_nodes = {nodes};
  topology.peer_rate = description::BytesPerSecond(100e9);
  topology.network_rate = description::BytesPerSecond(10e9);
  topology.network_latency = description::Seconds(1e-3);
  return topology;
}

CollectiveCost cost(Collective what, std::uint64_t bytes, const Topology& topology) {
  return collective_cost(what, bytes, topology.world(), topology);
}

constexpr std::uint64_t GB = 1'000'000'000;

TEST(Collectives, InsideANodeAreRings) {
  const Topology node = cluster(4, 1);
  // 3/4 of it in 3 hops; the one after the other for an all-reduce
  const CollectiveCost gather = cost(Collective::all_gather, 4 * GB, node);
  EXPECT_EQ(gather.hops, 3u);
  EXPECT_EQ(gather.to_peer, 3 * GB);
  EXPECT_EQ(gather.to_node, 0u);
  const CollectiveCost reduce = cost(Collective::all_reduce, 4 * GB, node);
  EXPECT_EQ(reduce.hops, 6u);
  EXPECT_EQ(reduce.to_peer, 6 * GB);
  // a chain has as many hops, so the smallest is a ring too: 64 x 3/4 twice
  EXPECT_EQ(cost(Collective::all_reduce, 64, node).to_peer, 96u);
}

TEST(Collectives, AcrossNodesLeaveOverTheNicsOfAllMembers) {
  // 2 on each of 2 nodes: 3/4 of 8 GB, one half over the NIC, the other to the neighbour
  const CollectiveCost scatter = cost(Collective::reduce_scatter, 8 * GB, cluster(2, 2));
  EXPECT_EQ(scatter.hops, 3u);
  EXPECT_EQ(scatter.to_node, 3 * GB);
  EXPECT_EQ(scatter.to_peer, 3 * GB);
  // one on each of 8 nodes: 7/8 over the NIC and nothing inside
  const CollectiveCost alone = cost(Collective::all_gather, 8 * GB, cluster(1, 8));
  EXPECT_EQ(alone.to_node, 7 * GB);
  EXPECT_EQ(alone.to_peer, 0u);
}

TEST(Collectives, ReduceOverATreeWhereHopsCostMoreThanBytes) {
  const Topology nodes = cluster(4, 8);
  // ring: 2 x 31 hops and 2 x 31/32 of the bytes; tree: 2 x (3 + 3) hops and twice the bytes
  const CollectiveCost small = cost(Collective::all_reduce, 32'000'000, nodes);
  EXPECT_EQ(small.hops, 12u);
  EXPECT_EQ(small.to_peer + small.to_node, 64'000'000u);
  EXPECT_EQ(small.to_node, 16'000'000u);
  // 50 ms that the tree gains, against 1/32 of 2 n / 4 at 10 GB/s: at 32 GB both take the same
  EXPECT_EQ(cost(Collective::all_reduce, 31 * GB, nodes).hops, 12u);
  EXPECT_EQ(cost(Collective::all_reduce, 33 * GB, nodes).hops, 62u);
}

TEST(Collectives, OnlyAnAllReduceHasATree) {
  const Topology nodes = cluster(1, 64);
  EXPECT_EQ(cost(Collective::all_gather, 64, nodes).hops, 63u);
  EXPECT_EQ(cost(Collective::reduce_scatter, 64, nodes).hops, 63u);
  EXPECT_EQ(cost(Collective::all_reduce, 64, nodes).hops, 12u);
}

TEST(Collectives, TreesOfNodesThatAreNoPowerOfTwoAreOneDeeper) {
  EXPECT_EQ(cost(Collective::all_reduce, 64, cluster(1, 8)).hops, 2 * 3u);
  EXPECT_EQ(cost(Collective::all_reduce, 64, cluster(1, 9)).hops, 2 * 4u);
}

TEST(Collectives, AllToAllSendsEachMemberItsPartAtOnce) {
  // 4 GB in 4 parts: all but the member's own
  const CollectiveCost inside = cost(Collective::all_to_all, 4 * GB, cluster(4, 1));
  EXPECT_EQ(inside.hops, 1u);
  EXPECT_EQ(inside.to_peer, 3 * GB);
  EXPECT_EQ(inside.to_node, 0u);
  // 8 GB in 4 parts, 2 members on each of 2 nodes: one part stays inside, two leave by the own NIC
  const CollectiveCost across = cost(Collective::all_to_all, 8 * GB, cluster(2, 2));
  EXPECT_EQ(across.hops, 1u);
  EXPECT_EQ(across.to_peer, 2 * GB);
  EXPECT_EQ(across.to_node, 4 * GB);
}

TEST(Collectives, OfOneMemberSendNothing) {
  const CollectiveCost nothing = cost(Collective::all_reduce, GB, cluster(1, 1));
  EXPECT_EQ(nothing.hops, 0u);
  EXPECT_EQ(nothing.sent(), 0u);
}

TEST(Collectives, LargeOnesDoNotOverflow) {
  // 4 EB among 1024: 1023/1024 of it
  const std::uint64_t exabytes = std::uint64_t{1} << 62;
  EXPECT_EQ(cost(Collective::all_gather, exabytes, cluster(8, 128)).sent(), exabytes / 1024 * 1023);
}

}  // namespace
}  // namespace spillway::strategies
