#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "hw_backend/raw_device/raw_device.hpp"
#include "hw_backend/raw_device/refusals.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/hw_backend/raw_device/fake_system.hpp"

// The real block layer: on images in files, on loop devices over them, and on the disk under /,
// which is looked at and never opened. Nothing is written to any other device.
namespace spillway::hw_backend {

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::string output_of(const std::string& command) {
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  for (int each = std::fgetc(pipe); each != EOF; each = std::fgetc(pipe)) {
    text += static_cast<char>(each);
  }
  const int status = pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "done" : text;
}

/// 16 MiB of zeros in a file of this test's own.
class RealLayer : public testing::Test {
 protected:
  RealLayer() {
    std::string name = std::filesystem::temp_directory_path() / "spillway_loop_XXXXXX";
    folder = mkdtemp(name.data());
    image = folder / "image";
    std::ofstream(image).close();
    std::filesystem::resize_file(image, 16 << 20);
  }
  ~RealLayer() override {
    if (mounted) umount2((folder / "mount").c_str(), 0);
    if (!loop.empty()) output_of("losetup --detach " + loop.string());
    std::filesystem::remove_all(folder);
  }

  bool attach() {
    if (geteuid() != 0) return false;
    const std::string name = output_of("losetup --find --show " + image.string());
    if (!name.starts_with("/dev/loop")) return false;
    loop = name;
    return true;
  }
  std::vector<std::string> signatures_of_image() {
    const HeldDevice held(open(image.c_str(), O_RDONLY | O_CLOEXEC));
    return signatures_of(held.fd());
  }
  void put(std::uint64_t offset, const std::string& bytes) {
    std::fstream file(image, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::vector<std::string> complaints() {
    std::vector<std::string> result;
    try {
      RawGate(layer, loop, "S1");
    } catch (const description::ScenarioError& error) {
      for (const auto& complaint : error.complaints()) result.push_back(to_string(complaint));
    }
    return result;
  }

  SystemBlockLayer layer;
  std::filesystem::path folder, image, loop;
  bool mounted = false;
};

constexpr const char* no_loop = "SKIP: no loop device: not root, or losetup is refused here";

TEST_F(RealLayer, SeesNothingOnZeros) { EXPECT_THAT(signatures_of_image(), ElementsAre()); }

TEST_F(RealLayer, SeesFileSystemsAndSwap) {
  if (output_of("mkfs.ext4 -q -L mine " + image.string()).empty()) GTEST_SKIP() << "no mkfs.ext4";
  EXPECT_THAT(signatures_of_image(), Contains(HasSubstr("ext4 (filesystem), label \"mine\"")));
}

TEST_F(RealLayer, SeesASuperblockWhoseChecksumIsWrong) {
  // nilfs2 at byte 1024: revision 2, magic 0x3434, 280 bytes long, checksum 0.
  put(1024, std::string("\x02\0\0\0\0\0\x34\x34\x18\x01", 10));
  EXPECT_THAT(signatures_of_image(), Contains(HasSubstr("nilfs2")));
}

TEST_F(RealLayer, SeesSwapSpace) {
  if (output_of("mkswap " + image.string()).empty()) GTEST_SKIP() << "no mkswap";
  EXPECT_THAT(signatures_of_image(), Contains(HasSubstr("swap")));
}

TEST_F(RealLayer, SeesEncryptionAndRaid) {
  put(0, std::string("LUKS\xba\xbe\0\x01", 8));
  EXPECT_THAT(signatures_of_image(), Contains(HasSubstr("crypto_LUKS")));
}

TEST_F(RealLayer, SeesAPartitionTableAndBothCopiesOfSignatures) {
  // Type 0x83 from sector 1 on, 100 sectors long.
  put(450, std::string("\x83\0\0\0\x01\0\0\0\x64", 9));
  put(510, "\x55\xAA");
  put(4086, "SWAPSPACE2");
  EXPECT_THAT(signatures_of_image(), Contains(HasSubstr("partition table (dos)")));
}

/// CRC-32 of IEEE 802.3, as GPT headers carry it.
std::uint32_t crc_of(const std::string& bytes) {
  std::uint32_t crc = ~0u;
  for (const char each : bytes) {
    crc ^= static_cast<std::uint8_t>(each);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0u);
  }
  return ~crc;
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i);
  return text;
}

TEST_F(RealLayer, SeesThePartitionTableThatIsLeftWhenTheFirstSectorsWereWiped) {
  // 16 MiB are sectors 0 ... 32767: the second header in the last, its 32 sectors of entries
  // before.
  const std::string entries(128 * 128, '\0');
  const auto header = [&](std::uint32_t crc) {
    return "EFI PART" + little_endian(0x10000, 4) + little_endian(92, 4) + little_endian(crc, 4) +
           little_endian(0, 4) + little_endian(32767, 8) + little_endian(1, 8) +
           little_endian(34, 8) + little_endian(32734, 8) + std::string(16, 'G') +
           little_endian(32735, 8) + little_endian(128, 4) + little_endian(128, 4) +
           little_endian(crc_of(entries), 4);
  };
  put(32767 * 512, header(crc_of(header(0))));
  EXPECT_THAT(signatures_of_image(), Contains(HasSubstr("partition table (gpt)")));
}

TEST_F(RealLayer, RefusesALoopDevice) {
  if (!attach()) GTEST_SKIP() << no_loop;
  EXPECT_THAT(complaints(), ElementsAre(HasSubstr("has no hardware behind it"),
                                        HasSubstr("has no serial number")));
}

TEST_F(RealLayer, ReadsSizeBlockAndNumberFromTheKernel) {
  if (!attach()) GTEST_SKIP() << no_loop;
  const Opened opened = layer.open_exclusive(loop);
  ASSERT_GE(opened.fd, 0);
  const HeldDevice held(opened.fd);
  EXPECT_EQ(layer.size(held.fd()), 16u << 20);
  EXPECT_EQ(layer.logical_block(held.fd()), 512u);
  EXPECT_FALSE(layer.read_only(held.fd()));
  EXPECT_EQ(layer.number_of(held.fd()), layer.number_of(loop));
  EXPECT_EQ(layer.number_of(held.fd())->major, 7u);
  EXPECT_THAT(layer.signatures(held.fd()), ElementsAre());
  // Held for the run: nobody else gets it.
  EXPECT_EQ(layer.open_exclusive(loop).error, EBUSY);
}

TEST_F(RealLayer, RefusesAMountedLoopDevice) {
  if (output_of("mkfs.ext4 -q " + image.string()).empty()) GTEST_SKIP() << "no mkfs.ext4";
  if (!attach()) GTEST_SKIP() << no_loop;
  {
    const Opened opened = layer.open_exclusive(loop);
    ASSERT_GE(opened.fd, 0);
    const HeldDevice held(opened.fd);
    EXPECT_THAT(layer.signatures(held.fd()), Contains(HasSubstr("ext4")));
  }
  const std::filesystem::path point = folder / "mount";
  std::filesystem::create_directory(point);
  mounted = mount(loop.c_str(), point.c_str(), "ext4", MS_RDONLY, "") == 0;
  if (!mounted) GTEST_SKIP() << "SKIP: mounting is refused here";
  EXPECT_THAT(complaints(), Contains(HasSubstr("is in use: mounted on " + point.string())));
  EXPECT_EQ(layer.open_exclusive(loop).error, EBUSY);
}

TEST_F(RealLayer, SeesThePartitionsOfALoopDevice) {
  put(450, std::string("\x83\0\0\0\x01\0\0\0\x64", 9));
  put(510, "\x55\xAA");
  if (!attach()) GTEST_SKIP() << no_loop;
  const Opened opened = layer.open_exclusive(loop);
  ASSERT_GE(opened.fd, 0);
  const HeldDevice held(opened.fd);
  EXPECT_THAT(layer.signatures(held.fd()), Contains(HasSubstr("partition table (dos)")));
}

TEST_F(RealLayer, SeesAReadOnlyLoopDevice) {
  if (!attach()) GTEST_SKIP() << no_loop;
  if (output_of("blockdev --setro " + loop.string()).empty()) GTEST_SKIP() << "no blockdev";
  EXPECT_THAT(complaints(), Contains(HasSubstr("is read-only")));
  output_of("blockdev --setrw " + loop.string());
}

/// A loop device in the accounts of a system where it is a drive: all calls are real.
class LoopAsDrive : public SystemBlockLayer {
 public:
  explicit LoopAsDrive(const std::filesystem::path& loop) {
    accounts_.add_disk("nvme0n1", *number_of(loop), "S1");
  }
  Roots roots() const override { return accounts_.roots(); }

 private:
  FakeSystem accounts_;
};

TEST_F(RealLayer, HoldsAndWritesADriveThatHasNothingAgainstIt) {
  if (!attach()) GTEST_SKIP() << no_loop;
  const LoopAsDrive drive(loop);
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(4096, 4096)), &std::free);
  {
    RawGate gate(drive, loop, "S1");
    gate.statement({});
    const RawDevice device = std::move(gate).open("S1");
    EXPECT_EQ(drive.open_exclusive(loop).error, EBUSY);
    std::fill_n(memory.get(), 4096, std::byte(0x5A));
    device.write(8192, {memory.get(), 4096});
    std::fill_n(memory.get(), 4096, std::byte(0));
    device.read(8192, {memory.get(), 4096});
    EXPECT_EQ(memory.get()[4095], std::byte(0x5A));
  }
  EXPECT_TRUE(RawGate(drive, loop, "S1").drive().ours);
}

TEST_F(RealLayer, RefusesADriveThatHoldsAFileSystem) {
  if (output_of("mkfs.ext4 -q " + image.string()).empty()) GTEST_SKIP() << "no mkfs.ext4";
  if (!attach()) GTEST_SKIP() << no_loop;
  const LoopAsDrive drive(loop);
  try {
    RawGate gate(drive, loop, "S1");
    ADD_FAILURE() << "let through";
  } catch (const description::ScenarioError& error) {
    EXPECT_THAT(error.what(), HasSubstr("holds ext4 (filesystem)"));
  }
}

TEST_F(RealLayer, KnowsTheDiskUnderRoot) {
  struct stat status {};
  ASSERT_EQ(stat("/", &status), 0);
  const DeviceNumber number{major(status.st_dev), minor(status.st_dev)};
  const auto part = folder_of(layer.roots(), number);
  if (number.major == 0 || !part) GTEST_SKIP() << "SKIP: no block device is known under /";
  for (const BlockFolder& disk : disks_under(*part)) {
    std::vector<std::string> found;
    const Found device{"/dev/" + disk.filename().string(), number, disk};
    for (const auto& complaint : refusals(layer, device, "S1")) found.push_back(complaint.message);
    EXPECT_THAT(found, Contains(HasSubstr("is the disk under /")));
  }
}

}  // namespace

}  // namespace spillway::hw_backend
