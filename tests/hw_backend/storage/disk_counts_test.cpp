#include "hw_backend/storage/disk_counts.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <fstream>

namespace spillway::hw_backend {
namespace {

namespace fs = std::filesystem;

/// A /sys and /proc with one disk, "nvme0n1" of 259:0, and its partition of 259:1.
class DiskCountsTest : public testing::Test {
 protected:
  DiskCountsTest() {
    const fs::path disk = root() / "sys/devices/pci/nvme0n1";
    fs::create_directories(disk / "nvme0n1p1");
    std::ofstream(disk / "nvme0n1p1/partition") << "1\n";
    fs::create_directories(root() / "sys/dev/block");
    fs::create_directory_symlink(disk, root() / "sys/dev/block/259:0");
    fs::create_directory_symlink(disk / "nvme0n1p1", root() / "sys/dev/block/259:1");
    fs::create_directories(root() / "proc");
    std::ofstream(root() / "proc/diskstats")
        << " 259       0 nvme0n1 10 1 100 5 20 2 3000 6 0 7 8 0 0 0 0 0 0\n"
        << " 259       1 nvme0n1p1 9 1 90 5 19 2 2900 6 0 7 8 0 0 0 0 0 0\n";
  }
  const fs::path& root() const { return scratch_.path(); }

 private:
  ScratchDirectory scratch_;
};

TEST_F(DiskCountsTest, AreBytesOfSectorsOf512) {
  const auto counts = read_disk_counts(259, 0, root());
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->disk, "nvme0n1");
  EXPECT_EQ(counts->bytes_read, 100u * 512);
  EXPECT_EQ(counts->bytes_written, 3000u * 512);
}

TEST_F(DiskCountsTest, OfAPartitionAreItsDisks) {
  const auto counts = read_disk_counts(259, 1, root());
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->disk, "nvme0n1");
  EXPECT_EQ(counts->bytes_written, 3000u * 512);
}

TEST_F(DiskCountsTest, AreNothingWithoutADisk) {
  EXPECT_FALSE(read_disk_counts(0, 42, root()));  // as tmpfs and overlayfs have it
  EXPECT_FALSE(read_disk_counts(fs::path("/no/such/path")));
  EXPECT_FALSE(read_disk_counts(fs::path("/proc")));
}

TEST_F(DiskCountsTest, OfARunAreItsDifference) {
  const DiskCounts run = DiskCounts{"sda", 700, 90} - DiskCounts{"sda", 500, 80};
  EXPECT_EQ(run.bytes_read, 200u);
  EXPECT_EQ(run.bytes_written, 10u);
}

TEST(RealDisk, CountsWhatWasWrittenToIt) {
  const ScratchDirectory scratch;
  const auto before = read_disk_counts(scratch.path());
  if (!before) GTEST_SKIP() << "no disk under " << scratch.path();
  const Pages page(1 << 20);
  const auto path = scratch.path() / "file";
  std::ofstream(path).write(reinterpret_cast<const char*>(page.data()), 1 << 20);
  const Target file = Target::open(path, Access::read_write, false);
  ASSERT_EQ(fsync(file.fd()), 0);
  const DiskCounts run = *read_disk_counts(scratch.path()) - *before;
  EXPECT_GE(run.bytes_written, std::uint64_t{1} << 20);
}

}  // namespace
}  // namespace spillway::hw_backend
