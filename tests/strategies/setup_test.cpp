#include "strategies/setup.hpp"
#include "tests/strategies/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;

TEST(Setup, GroupsAreAllRanksThenDataParallelThenTensorParallelOnes) {
  description::Scenario box = small_box();
  box.parallel.data = 2;
  box.parallel.tensor = 2;
  box.parallel.pipeline = 2;
  const Topology topology = setup_for(box, false, false).topology;
  EXPECT_EQ(topology.ranks, 8u);
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

TEST(Setup, AllocatorsAndLimitsComeFromTheScenario) {
  description::Scenario box = small_box();
  EXPECT_EQ(setup_for(box, true, true).pinned, Rounding::page);
  EXPECT_EQ(setup_for(box, true, true).gpu, Rounding::none);
  EXPECT_TRUE(setup_for(box, true, false).clock);
  EXPECT_FALSE(setup_for(box, false, true).clock);
  box.strategy.pinned = description::PinnedPolicy::power_of_two;
  box.strategy.gpu_allocator = description::GpuAllocator::caching;
  box.strategy.unlimited_gpu = true;
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
