#include "strategies/run/numerics.hpp"
#include "tests/hw_backend/raw_device/fake_system.hpp"
#include "tests/hw_backend/training.hpp"

#include "hw_backend/raw_device/raw_device.hpp"

#include <gtest/gtest.h>

namespace spillway::hw_backend {
namespace {

constexpr std::uint64_t disk_bytes = std::uint64_t{1} << 30;

/// A drive of 1 GiB, and what a gate gave for it.
struct Disk {
  FakeSystem system;
  std::filesystem::path path = system.add_disk("nvme1n1", {259, 1}, "S1");
  std::optional<RawDevice> device;

  Disk() {
    std::filesystem::resize_file(path, disk_bytes);
    system.set("nvme1n1", "size", std::to_string(disk_bytes / 512));
    RawGate gate(system, path, "S1");
    gate.statement({});
    device.emplace(std::move(gate).open("S1"));
  }
  std::vector<std::byte> bytes(std::uint64_t from, std::uint64_t count) const {
    std::vector<std::byte> found(count);
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(from));
    file.read(reinterpret_cast<char*>(found.data()), static_cast<std::streamsize>(count));
    return found;
  }
};

TEST(RawTraining, EndsWhereTheReferenceDoesAndStaysInFrontOfTheMark) {
  const Disk disk;
  const std::uint64_t end = disk.device->size();
  const std::vector<std::byte> behind = disk.bytes(end, disk_bytes - end);
  const description::Scenario scenario = small_training("memascend");
  RealRunOptions options;
  options.storages.push_back({{}, &*disk.device});
  const RealRun run = train_for_real(scenario, options);
  const RealRun reference = train_for_real(strategies::reference_of(scenario));
  ASSERT_TRUE(run.result.feasible());
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
  EXPECT_GT(run.storage.at("nvme").asked.write, 0u);
  const std::vector<std::byte> start = disk.bytes(0, 4096);
  EXPECT_NE(start, std::vector<std::byte>(4096)) << "nothing was written to the disk";
  EXPECT_EQ(disk.bytes(end, disk_bytes - end), behind);
}

TEST(RawTraining, RefusesAStorageLargerThanItsDisk) {
  const Disk disk;
  description::Scenario scenario = small_training("memascend");
  scenario.machine.storage[0].capacity = description::Bytes(disk.device->size() + 4096);
  RealRunOptions options;
  options.storages.push_back({{}, &*disk.device});
  EXPECT_THROW(train_for_real(scenario, options), description::InternalError);
}

TEST(RawTraining, NeedsTheDirectEngine) {
  const Disk disk;
  RealRunOptions options;
  options.storages.push_back({{}, &*disk.device});
  EXPECT_THROW(train_for_real(small_training("zero_infinity"), options),
               description::InternalError);
}

}  // namespace
}  // namespace spillway::hw_backend
