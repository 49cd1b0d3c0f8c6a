#include "answers/server/preflight.hpp"

#include "hw_backend/storage/disk_counts.hpp"
#include "scenarios/description/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace spillway::answers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

/// Two ranks, one drive of 100 GB, 1 + 2 steps.
description::Scenario scenario() {
  description::Scenario scenario;
  scenario.parallel.data = 2;
  scenario.machine.nodes = 1;
  scenario.machine.gpu.count = 2;
  scenario.run.warmup_steps = 1;
  scenario.run.steps = 2;
  scenario.strategy.io_engine = description::IoEngine::direct;
  scenario.machine.storage.resize(1);
  scenario.machine.storage[0].name = "nvme";
  scenario.machine.storage[0].capacity = description::Bytes(100'000'000'000);
  return scenario;
}

result::Result predicted() {
  result::Result r;
  r.step_time_s = 2;
  r.host.total = 10 * gib;
  r.host.by_purpose = {{"process_base", gib}, {"parameter_pool", 9 * gib}};
  r.host.entries = {{0, "parameter_pool", 2, 4 * gib, 4 * gib, true},
                    {0, "gradient_flat_buffer", 1, gib, gib, false}};
  r.gpu.total = 3 * gib;
  r.gpu.by_purpose = {{"context", gib}};
  r.ssd.total = 16'000'000'000;
  r.io.by_storage["nvme"] = {7'000'000'000, 4'000'000'000};
  return r;
}

TEST(MemoryNeed, CountsWhatTheProcessHasNotYet) {
  const MemoryNeed need = memory_need(scenario(), predicted(), gib);
  EXPECT_EQ(need.host, 9 * gib);     // 10 less the process
  EXPECT_EQ(need.gpus, 4 * gib);     // 2 ranks of 3 less a driver's 1
  EXPECT_EQ(need.masters, 4 * gib);  // 4 B each
  EXPECT_EQ(need.locked, 8 * gib);   // 2 x 4
  EXPECT_EQ(need.total(), 17 * gib);
}

TEST(MemoryNeed, OfCudaDevicesIsNoneOfTheProcess) {
  const MemoryNeed need = memory_need(scenario(), predicted(), 0, true);
  EXPECT_EQ(need.gpus, 0u);
  EXPECT_EQ(need.device, 2 * gib);  // of each: 3 less a driver's 1
  EXPECT_EQ(need.total(), 9 * gib);
  EXPECT_THAT(announcement(scenario(), predicted(), need, false),
              HasSubstr("2.00 GiB on each of 2 GPUs."));
}

TEST(RequireMemory, RefusesOneByteTooMuchAndSaysWhatItIsFor) {
  const MemoryNeed need{9 * gib, 4 * gib, 0, 0, 0};
  EXPECT_NO_THROW(require_memory(need, 13 * gib));
  try {
    require_memory(need, 13 * gib - 1);
    FAIL();
  } catch (const description::DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("9.00 GiB for the host's buffers, 4.00 GiB for emulated"));
  }
}

TEST(SizeStorages, LeavesRoomForASixteenthAnd64MiBButNotMoreThanThereIs) {
  description::Scenario one = scenario();
  size_storages(one, predicted());
  // 16e9 x 17 / 16 + 64 MiB, in whole 4096 bytes
  const std::uint64_t room = (17'000'000'000 + (64u << 20)) / 4096 * 4096;
  EXPECT_EQ(one.machine.storage[0].capacity.value(), room);
  EXPECT_THAT(file_need(one, predicted()), ElementsAre(room));
  one.machine.storage[0].capacity = description::Bytes(4096);
  size_storages(one, predicted());
  EXPECT_EQ(one.machine.storage[0].capacity.value(), 4096u);
}

TEST(FileNeed, IsWhatTensorsTakeWhereEachHasItsFile) {
  description::Scenario one = scenario();
  one.strategy.io_engine = description::IoEngine::file;
  EXPECT_THAT(file_need(one, predicted()), ElementsAre(16'000'000'000u));
}

TEST(Announcement, StatesSpaceWearAndTime) {
  // 16 GB laid down and 3 x 4 GB: 28 GB, 0.28 % of 10 TB
  EXPECT_DOUBLE_EQ(bytes_written(scenario(), predicted()), 28e9);
  result::Result rated = predicted();
  rated.wear.emplace();
  rated.wear->storage = "nvme";
  rated.wear->lifetime_write_bytes = 1e13;
  const std::string text = announcement(scenario(), rated, memory_need(scenario(), rated, 0), true);
  EXPECT_THAT(text, HasSubstr("3 steps of 2.00 s or more, then as many of resident training"));
  EXPECT_THAT(text, HasSubstr("28.0 GB written in all (0.28 % of what nvme may write"));
  EXPECT_THAT(text, HasSubstr("4.00 GiB for 2 emulated GPUs"));
  EXPECT_THAT(announcement(scenario(), predicted(), {}, false), HasSubstr("wear is not known"));
}

TEST(RequireRoom, AddsUpDirectoriesOfOneFileSystem) {
  const std::filesystem::path folder = testing::TempDir() + "spillway_room";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "a");
  std::filesystem::create_directories(folder / "b");
  const std::vector<StoragePath> places{{"a", folder / "a"}, {"b", folder / "b"}};
  const std::uint64_t free = std::filesystem::space(folder).available;
  if (free < 4 * gib) GTEST_SKIP() << "SKIP: less than 4 GiB free here";
  EXPECT_NO_THROW(require_room(places, {4096, 4096}));
  EXPECT_THROW(require_room(places, {free * 3 / 5, free * 3 / 5}), description::DeviceError);
  EXPECT_THROW(require_room({{"c", folder / "c"}}, {1}), description::ScenarioError);
  EXPECT_TRUE(std::filesystem::is_empty(folder / "a"));
  std::filesystem::remove_all(folder);
}

TEST(SharedDisk, IsSaidWhereTheMachineFileDoesNotKnowIt) {
  const std::filesystem::path here = SPILLWAY_SOURCE_DIR;
  const std::vector<StoragePath> places = {{"a", here}, {"b", here / "tests"}};
  if (!hw_backend::read_disk_counts(here)) GTEST_SKIP() << "SKIP: no disk counts here";
  description::MachineFile machine = scenario().machine;
  machine.storage.resize(2);
  machine.storage[0].name = "a";
  machine.storage[1].name = "b";
  EXPECT_THAT(shared_disk(places, machine).value_or(""), HasSubstr("a and b lie on one disk"));
  EXPECT_FALSE(shared_disk({places[0]}, machine));
  for (auto& storage : machine.storage) storage.device = "vda";
  EXPECT_FALSE(shared_disk(places, machine));
}

}  // namespace
}  // namespace spillway::answers
