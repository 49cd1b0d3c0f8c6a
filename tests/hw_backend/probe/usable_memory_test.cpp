#include "hw_backend/probe/usable_memory.hpp"

#include "scenarios/description/errors.hpp"

#include <gtest/gtest.h>
#include <fstream>

namespace spillway::hw_backend {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t MiB = 1 << 20;

/// A /proc and /sys of its own, with 1 GiB available.
class UsableMemory : public testing::Test {
 protected:
  UsableMemory() {
    fs::remove_all(root_);
    write("proc/meminfo", "MemTotal: 2097152 kB\nMemAvailable: 1048576 kB\nSwapFree: 4 kB\n");
  }
  ~UsableMemory() override { fs::remove_all(root_); }

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  fs::path root_ = fs::path(testing::TempDir()) /
                   ("spillway_usable_" +
                    std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(UsableMemory, IsWhatIsAvailableWithoutGroups) {
  EXPECT_EQ(usable_memory(root_), 1024 * MiB);
}

TEST_F(UsableMemory, IsBoundByAGroup) {
  write("proc/self/cgroup", "0::/user/job\n");
  write("sys/fs/cgroup/user/job/memory.max", "268435456\n");
  EXPECT_EQ(usable_memory(root_), 256 * MiB);
}

TEST_F(UsableMemory, IsBoundByTheTightestGroupAbove) {
  write("proc/self/cgroup", "0::/user/job\n");
  write("sys/fs/cgroup/user/job/memory.max", "max\n");
  write("sys/fs/cgroup/user/memory.max", "134217728\n");
  EXPECT_EQ(usable_memory(root_), 128 * MiB);
}

TEST_F(UsableMemory, IsNotRaisedByAGroup) {
  write("proc/self/cgroup", "0::/user\n");
  write("sys/fs/cgroup/user/memory.max", "99999999999\n");
  EXPECT_EQ(usable_memory(root_), 1024 * MiB);
}

TEST_F(UsableMemory, OfTheFirstVersionToo) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/job\n1:name=systemd:/job\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "67108864\n");
  write("sys/fs/cgroup/cpu/job/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(usable_memory(root_), 64 * MiB);
}

TEST_F(UsableMemory, InAContainerItsOwnGroupIsTheMount) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "33554432\n");
  EXPECT_EQ(usable_memory(root_), 32 * MiB);
}

TEST(RequireMemoryToProbe, RefusesInsteadOfBeingKilled) {
  EXPECT_NO_THROW(require_memory_to_probe(std::uint64_t{512} << 20));
  try {
    require_memory_to_probe(std::uint64_t{300} << 20);
    FAIL() << "it goes on";
  } catch (const description::DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("300 MiB are available"), std::string::npos);
  }
}

}  // namespace
}  // namespace spillway::hw_backend
