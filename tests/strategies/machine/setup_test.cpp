#include "strategies/machine/setup.hpp"
#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;

TEST(Setup, GroupsAreAllRanksThenDataParallelThenTensorParallelOnes) {
  description::Scenario box = small_box();
  box.parallel.data = 2;
  box.parallel.tensor = 2;
  box.parallel.pipeline = 2;
  box.machine.gpu.count = 8;
  const Topology topology = setup_for(box, false, false).topology;
  EXPECT_EQ(topology.ranks, 8u);
  EXPECT_EQ(topology.nodes, 1u);
  ASSERT_EQ(topology.groups.size(), 1 + 4 + 4 + 4u);
  EXPECT_EQ(topology.groups[0].size(), 8u);
  // rank = (pipeline index x 2 + data index) x 2 + tensor index
  EXPECT_THAT(topology.groups[1], ElementsAre(Rank{0}, Rank{2}));
  EXPECT_THAT(topology.groups[2], ElementsAre(Rank{1}, Rank{3}));
  EXPECT_THAT(topology.groups[4], ElementsAre(Rank{5}, Rank{7}));
  EXPECT_THAT(topology.groups[5], ElementsAre(Rank{0}, Rank{1}));
  EXPECT_THAT(topology.groups[8], ElementsAre(Rank{6}, Rank{7}));
}

TEST(Setup, EveryRankIsInItsDataAndItsTensorGroup) {
  description::Scenario box = small_box();
  box.parallel.data = 3;
  box.parallel.tensor = 2;
  box.parallel.pipeline = 2;
  box.machine.gpu.count = 12;
  const Topology topology = setup_for(box, false, false).topology;
  for (std::uint32_t i = 0; i < topology.ranks; ++i) {
    const Rank rank{i};
    const auto& data = topology.groups.at(data_group(box, rank).index);
    const auto& tensor = topology.groups.at(tensor_group(box, rank).index);
    EXPECT_EQ(data.size(), 3u);
    EXPECT_EQ(tensor.size(), 2u);
    EXPECT_THAT(data, ::testing::Contains(rank));
    EXPECT_THAT(tensor, ::testing::Contains(rank));
  }
}

TEST(Setup, TheFirstOfEqualNodesStandsForAll) {
  description::Scenario box = small_box();
  box.parallel.data = 6;
  box.parallel.tensor = 2;
  box.machine.gpu.count = 4;
  box.machine.nodes = 9;  // 12 ranks fill three of them
  const Topology topology = setup_for(box, false, false).topology;
  EXPECT_EQ(topology.ranks, 4u);
  EXPECT_EQ(topology.nodes, 3u);
  EXPECT_EQ(topology.size(topology.world()), 12u);
  // two data-parallel groups of 2 x 3, two tensor-parallel ones inside the node
  ASSERT_EQ(topology.groups.size(), 1 + 2 + 2 + 2u);
  EXPECT_THAT(topology.groups[1], ElementsAre(Rank{0}, Rank{2}));
  EXPECT_THAT(topology.groups[4], ElementsAre(Rank{2}, Rank{3}));
  for (const Rank rank : topology.groups[0]) {
    EXPECT_EQ(topology.size(data_group(box, rank)), 6u);
    EXPECT_EQ(topology.size(reduce_group(box, rank)), 6u);
    EXPECT_EQ(topology.size(tensor_group(box, rank)), 2u);
    EXPECT_NE(reduce_group(box, rank).index, data_group(box, rank).index);
  }
}

/// 8 data-parallel ranks on 2 nodes, `expert` of which share experts.
description::Scenario experts_box(std::uint64_t expert) {
  description::Scenario box = small_box();
  box.parallel.data = 8;
  box.parallel.expert = expert;
  box.machine.gpu.count = 4;
  box.machine.nodes = 2;
  return box;
}

TEST(Setup, ExpertGroupsAreRanksInARowAndTheirDataGroupsTheRest) {
  const description::Scenario box = experts_box(2);
  const Topology topology = setup_for(box, false, false).topology;
  // of 4 simulated ranks: 2 pairs inside the node; who holds the same is on both nodes
  EXPECT_THAT(topology.groups.at(expert_group(box, Rank{3}).index), ElementsAre(Rank{2}, Rank{3}));
  EXPECT_THAT(topology.groups.at(expert_data_group(box, Rank{3}).index),
              ElementsAre(Rank{1}, Rank{3}));
  EXPECT_THAT(topology.groups.at(expert_reduce_group(box, Rank{3}).index),
              ElementsAre(Rank{1}, Rank{3}));
  EXPECT_NE(expert_data_group(box, Rank{3}).index, expert_reduce_group(box, Rank{3}).index);
  for (const Rank rank : topology.groups[0]) {
    EXPECT_EQ(topology.size(expert_group(box, rank)), 2u);
    EXPECT_EQ(topology.size(expert_data_group(box, rank)), 4u);
    EXPECT_EQ(topology.size(data_group(box, rank)), 8u);
  }
  EXPECT_EQ(expert_reduce_group(box, Rank{3}).index + 1, topology.groups.size());
}

TEST(Setup, ExpertGroupsHaveContextRanksInThem) {
  description::Scenario box = experts_box(4);
  box.parallel.data = 4;
  box.parallel.context = 2;
  const Topology topology = setup_for(box, false, false).topology;
  EXPECT_THAT(topology.groups.at(context_group(box, Rank{3}).index), ElementsAre(Rank{2}, Rank{3}));
  EXPECT_THAT(topology.groups.at(expert_group(box, Rank{3}).index),
              ElementsAre(Rank{0}, Rank{1}, Rank{2}, Rank{3}));
  EXPECT_THAT(topology.groups.at(expert_data_group(box, Rank{3}).index), ElementsAre(Rank{3}));
  EXPECT_EQ(topology.size(expert_data_group(box, Rank{3})), 2u);
  EXPECT_EQ(expert_reduce_group(box, Rank{3}).index + 1, topology.groups.size());
}

TEST(Setup, AnExpertGroupMaySpanNodes) {
  const description::Scenario whole = experts_box(8), node = experts_box(4);
  const Topology both = setup_for(whole, false, false).topology;
  EXPECT_EQ(both.local_size(expert_group(whole, Rank{1})), 4u);
  EXPECT_EQ(both.size(expert_group(whole, Rank{1})), 8u);
  EXPECT_EQ(both.size(expert_data_group(whole, Rank{1})), 1u);
  const Topology each = setup_for(node, false, false).topology;
  EXPECT_EQ(each.size(expert_group(node, Rank{1})), 4u);
  EXPECT_EQ(each.size(expert_data_group(node, Rank{1})), 2u);
}

TEST(Setup, StagesOnSeveralNodesAreAllSimulated) {
  description::Scenario box = small_box();
  box.parallel.data = 1;
  box.parallel.tensor = 2;
  box.parallel.pipeline = 3;  // two on the first node, one on the second
  box.machine.gpu.count = 4;
  box.machine.nodes = 2;
  const Topology topology = setup_for(box, false, false).topology;
  EXPECT_EQ(topology.ranks, 6u);
  EXPECT_EQ(topology.nodes, 1u);
  EXPECT_EQ(topology.simulated_nodes(), 2u);
  EXPECT_EQ(topology.node_of(Rank{3}), 0u);
  EXPECT_EQ(topology.node_of(Rank{4}), 1u);
  EXPECT_THAT(topology.groups.at(tensor_group(box, Rank{5}).index), ElementsAre(Rank{4}, Rank{5}));
}

TEST(Setup, TheFirstNodeOfAStageStandsForTheNodesItFills) {
  description::Scenario box = small_box();
  box.parallel.data = 4;
  box.parallel.tensor = 2;
  box.parallel.pipeline = 3;
  box.machine.gpu.count = 4;
  box.machine.nodes = 6;
  const Topology topology = setup_for(box, false, false).topology;
  EXPECT_EQ(topology.ranks, 12u);
  EXPECT_EQ(topology.nodes, 2u);
  EXPECT_EQ(topology.simulated_nodes(), 3u);
  EXPECT_EQ(topology.size(topology.world()), 24u);
  const Group data = data_group(box, Rank{6});
  EXPECT_THAT(topology.groups.at(data.index), ElementsAre(Rank{4}, Rank{6}));
  EXPECT_EQ(topology.size(data), 4u);
}

TEST(Setup, OnNodesOfOneGpuEveryGroupHasOneMemberHere) {
  description::Scenario box = small_box();
  box.parallel.data = 4;
  box.machine.gpu.count = 1;
  box.machine.nodes = 4;
  const Topology topology = setup_for(box, false, false).topology;
  EXPECT_EQ(topology.ranks, 1u);
  EXPECT_EQ(topology.size(data_group(box, rank0)), 4u);
  EXPECT_EQ(topology.size(tensor_group(box, rank0)), 1u);
}

TEST(Setup, NodesInUseShareAFileSystem) {
  description::Scenario box = small_box();
  box.parallel.data = 4;
  box.machine.nodes = 8;
  description::StorageSpec pfs = box.machine.storage[0];
  pfs.name = "pfs";
  pfs.shared_by_nodes = true;
  box.machine.storage.push_back(pfs);
  // 4 ranks on nodes of 2 GPUs: two of the eight nodes work
  const Topology topology = setup_for(box, false, false).topology;
  EXPECT_EQ(topology.storages[0].read, 2_GBps);
  EXPECT_EQ(topology.storages[0].capacity, 1_GiB);
  EXPECT_EQ(topology.storages[1].read, 1_GBps);
  EXPECT_EQ(topology.storages[1].write.value(), 0.5e9);
  EXPECT_EQ(topology.storages[1].capacity, 512_MiB);
}

TEST(Setup, GpusReachEachOtherOverTheirLinksElseOverPcie) {
  description::Scenario box = small_box();
  EXPECT_EQ(setup_for(box, false, false).topology.peer_rate, 10_GBps);  // PCIe, each way
  box.machine.pcie.link = 8_GBps;
  EXPECT_EQ(setup_for(box, false, false).topology.peer_rate, 8_GBps);
  box.machine.network.intra_node_per_gpu = 200_GBps;
  EXPECT_EQ(setup_for(box, false, false).topology.peer_rate, 200_GBps);
  box.machine.gpu.peer_rate = 300_GBps;
  EXPECT_EQ(setup_for(box, false, false).topology.peer_rate, 300_GBps);
  box.machine.gpu.peer_access = false;  // by way of host memory
  EXPECT_EQ(setup_for(box, false, false).topology.peer_rate, 8_GBps);
  box.machine.gpu.peer_rate = 3_GBps;
  EXPECT_EQ(setup_for(box, false, false).topology.peer_rate, 3_GBps);
}

TEST(Setup, AllocatorsAndLimitsComeFromTheScenario) {
  description::Scenario box = small_box();
  EXPECT_EQ(setup_for(box, true, true).pinned, Rounding::page);
  EXPECT_EQ(setup_for(box, true, true).gpu, Rounding::none);
  EXPECT_TRUE(setup_for(box, true, false).clock);
  EXPECT_FALSE(setup_for(box, false, true).clock);
  box.strategy.pinned = description::PinnedPolicy::power_of_two;
  box.strategy.gpu_allocator = description::GpuAllocator::caching;
  box.strategy.gpu_capacity = description::GpuCapacity::unlimited;
  const MachineSetup setup = setup_for(box, false, true);
  EXPECT_EQ(setup.pinned, Rounding::power_of_two);
  EXPECT_EQ(setup.gpu, Rounding::cuda_caching);
  EXPECT_TRUE(setup.trace);
  EXPECT_EQ(setup.topology.gpu_memory, Bytes(0));
  EXPECT_EQ(setup.topology.host_memory, 256_MiB);
}

TEST(Setup, StoragesKeepTheirOrderAndOnlyDrivesWear) {
  description::Scenario box = small_box();
  box.machine.storage[0].count = 3;
  description::StorageSpec remote = box.machine.storage[0];
  remote.name = "pfs";
  remote.kind = description::StorageKind::remote;
  remote.count = 1;
  box.machine.storage.insert(box.machine.storage.begin(), remote);
  const Topology topology = setup_for(box, false, false).topology;
  ASSERT_EQ(topology.storages.size(), 2u);
  EXPECT_EQ(topology.storages[0].name, "pfs");
  EXPECT_EQ(topology.storages[1].read.value(), 6e9);  // 3 drives of 2 GB/s
  EXPECT_EQ(topology.storages[1].capacity, 3_GiB);
  EXPECT_THAT(topology.drives(), ElementsAre(StorageId{1}));
}

}  // namespace
}  // namespace spillway::strategies
