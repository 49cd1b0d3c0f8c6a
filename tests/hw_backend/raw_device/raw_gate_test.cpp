#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <cerrno>
#include <csignal>

#include "hw_backend/raw_device/raw_device.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/hw_backend/raw_device/fake_system.hpp"

namespace spillway::hw_backend {

namespace {

using description::DeviceError;
using description::InternalError;
using description::ScenarioError;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Every complaint as it is printed; empty when the gate finds nothing.
std::vector<std::string> complaints(const FakeSystem& system, const std::filesystem::path& path,
                                    const std::string& allowed = "S1") {
  try {
    RawGate gate(system, path, allowed);
    return {};
  } catch (const ScenarioError& error) {
    std::vector<std::string> result;
    for (const auto& complaint : error.complaints()) {
      EXPECT_EQ(complaint.path, "--allow-raw");
      EXPECT_FALSE(complaint.hint.empty());
      result.push_back(to_string(complaint));
    }
    return result;
  }
}

/// A system with a good disk sdb, S1, and the system's own sda, S0, with its partition under /.
class RawGateTest : public testing::Test {
 protected:
  RawGateTest() {
    system.add_disk("sda", {8, 0}, "S0");
    system.add_partition("sda", "sda1", {8, 1});
    system.mount("8:1", "/", "/dev/sda1");
    disk = system.add_disk("sdb", {8, 16}, "S1");
  }
  void expect_refusal(const std::string& found) {
    EXPECT_THAT(complaints(system, disk), ElementsAre(HasSubstr(found)));
  }
  void expect_unopened_refusal(const std::string& found) {
    expect_refusal(found);
    EXPECT_EQ(system.opened, 0) << "a disk that is in use must not even be opened";
  }

  FakeSystem system;
  std::filesystem::path disk;
};

TEST_F(RawGateTest, GivesAnEmptyDiskOfItsOwnAfterTheSerialNumberIsTypedAgain) {
  RawGate gate(system, disk, "S1");
  EXPECT_EQ(gate.drive().model, "A drive");
  EXPECT_EQ(gate.drive().bytes, 16u << 20);
  EXPECT_FALSE(gate.drive().ours);
  gate.statement({});
  const RawDevice device = std::move(gate).open("S1");
  // 16 MiB, of which the last holds the mark.
  EXPECT_EQ(device.size(), 15u << 20);
  EXPECT_EQ(device.name(), disk.string());
  EXPECT_EQ(device.alignment(), 512u);

  std::vector<std::byte> written(4096, std::byte(0x5A)), read(4096);
  device.write(device.size() - 4096, written);
  device.read(device.size() - 4096, read);
  EXPECT_EQ(read, written);
}

TEST_F(RawGateTest, FollowsALinkToTheDisk) {
  std::filesystem::create_symlink(disk, system.root() / "dev/by-id");
  EXPECT_EQ(RawGate(system, system.root() / "dev/by-id", "S1").drive().path, disk);
}

TEST_F(RawGateTest, KnowsItsOwnLeavingsInTheNextRun) {
  {
    RawGate gate(system, disk, "S1");
    gate.statement({});
    const RawDevice device = std::move(gate).open("S1");
    device.write(0, std::vector<std::byte>(4096, std::byte(0x5A)));
  }
  RawGate again(system, disk, "S1");
  EXPECT_TRUE(again.drive().ours);
  EXPECT_THAT(again.statement({}), HasSubstr("left by an earlier run"));
  // The mark is of this disk alone: copied onto another, it allows nothing.
  system.set("sdb", "device/serial", "S2");
  EXPECT_THAT(complaints(system, disk, "S2"), ElementsAre(HasSubstr("holds data at byte 0")));
}

// A database or an encrypted volume that leaves the last MiB alone has no signature either.
TEST_F(RawGateTest, ExcusesOnlyWhatARunLeftWhenItEnded) {
  {
    RawGate gate(system, disk, "S1");
    gate.statement({});
    const RawDevice device = std::move(gate).open("S1");
    device.write(0, std::vector<std::byte>(4096, std::byte(0x5A)));
  }
  EXPECT_TRUE(RawGate(system, disk, "S1").drive().ours);
  system.put("sdb", 100, 'x');  // another program's byte
  EXPECT_THAT(complaints(system, disk), ElementsAre(HasSubstr("holds data at byte 0")));
  system.put("sdb", 100, 0x5A);
  EXPECT_TRUE(RawGate(system, disk, "S1").drive().ours);
}

// What a killed run left cannot be told from what came after it: its mark stays open.
TEST_F(RawGateTest, ExcusesEverythingAfterARunThatWasKilled) {
  const pid_t child = fork();
  if (child == 0) {
    RawGate gate(system, disk, "S1");
    gate.statement({});
    const RawDevice device = std::move(gate).open("S1");
    device.write(0, std::vector<std::byte>(4096, std::byte(0x5A)));
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(RawGate(system, disk, "S1").drive().ours);
}

TEST_F(RawGateTest, LooksAgainAfterTheSerialNumberWasTyped) {
  RawGate gate(system, disk, "S1");
  gate.statement({});
  system.put("sdb", 4096, 'x');  // dd, which asks the kernel for no claim
  EXPECT_THROW(std::move(gate).open("S1"), ScenarioError);
  system.put("sdb", 4096, 0);
  EXPECT_FALSE(RawGate(system, disk, "S1").drive().ours);
  RawGate mounted(system, disk, "S1");
  mounted.statement({});
  system.mount("8:16", "/data", "/dev/sdb");
  EXPECT_THROW(std::move(mounted).open("S1"), ScenarioError);
}

TEST_F(RawGateTest, RefusesWhatIsNoWholeDisk) {
  EXPECT_THAT(complaints(system, system.node("sdx")), ElementsAre(HasSubstr("does not exist")));
  EXPECT_THAT(complaints(system, system.root()), ElementsAre(HasSubstr("is not a block device")));
  EXPECT_THAT(complaints(system, system.root() / "proc/swaps"),
              ElementsAre(AllOf(HasSubstr("is not a block device"), HasSubstr("--on DIRECTORY"))));
  const auto part = system.add_partition("sdb", "sdb1", {8, 17});
  EXPECT_THAT(complaints(system, part), testing::Contains(HasSubstr("is a partition of sdb")));
  system.remove("sys/dev/block/8:16");
  EXPECT_THAT(complaints(system, disk), ElementsAre(HasSubstr("is not in /sys")));
  EXPECT_EQ(system.opened, 0);
}

TEST_F(RawGateTest, RefusesVolumesAndWhatHasNoHardware) {
  const auto loop = system.add_virtual("loop0", {7, 0});
  EXPECT_THAT(complaints(system, loop), ElementsAre(HasSubstr("has no hardware behind it"),
                                                    HasSubstr("has no serial number")));
  const auto volume = system.add_virtual("dm-0", {253, 0}, {"sdb"});
  EXPECT_THAT(complaints(system, volume), testing::Contains(HasSubstr("dm-0 is stacked on sdb")));
  const auto raid = system.add_virtual("md0", {9, 0});
  system.write(system.folder("md0") / "md/level", "raid0");
  EXPECT_THAT(complaints(system, raid),
              testing::Contains(HasSubstr("is a volume of device mapper or RAID")));
  EXPECT_EQ(system.opened, 0);
}

TEST_F(RawGateTest, RefusesRemovableHiddenReadOnlyAndEmptyDrives) {
  const std::pair<std::string, std::string> cases[] = {
      {"removable", "is removable"}, {"hidden", "is hidden"}, {"ro", "is read-only"}};
  for (const auto& [attribute, found] : cases) {
    system.set("sdb", attribute, "1");
    expect_unopened_refusal(found);
    system.set("sdb", attribute, "0");
  }
  system.set("sdb", "size", "0");
  expect_unopened_refusal("its size is 0");
}

TEST_F(RawGateTest, RefusesDrivesOnUsb) {
  disk = system.add_disk("sdc", {8, 32}, "S1", "pci0/usb1/1-1");
  system.set("sdb", "device/serial", "S2");
  expect_unopened_refusal("hangs on USB");
}

TEST_F(RawGateTest, RefusesPartitionsAndHolders) {
  system.add_partition("sdb", "sdb1", {8, 17});
  expect_unopened_refusal("has partitions: sdb1");
  system.add_virtual("dm-0", {253, 0}, {"sdb1"});
  EXPECT_THAT(complaints(system, disk),
              ElementsAre(HasSubstr("has partitions"), HasSubstr("is held by dm-0")));
}

TEST_F(RawGateTest, RefusesADiskThatIsHeldWhole) {
  system.add_virtual("md0", {9, 0}, {"sdb"});
  expect_unopened_refusal("is held by md0");
}

TEST_F(RawGateTest, RefusesAMountedDisk) {
  system.mount("8:16", "/mnt/my\\040data", "/dev/sdb");
  expect_unopened_refusal("is in use: mounted on /mnt/my data");
}

TEST_F(RawGateTest, RefusesAMountThatOnlyItsSourceTells) {
  system.mount("0:45", "/pool", disk.string());  // btrfs
  expect_unopened_refusal("is in use: mounted on /pool");
}

TEST_F(RawGateTest, RefusesAMountOnAPartitionAndThroughAVolume) {
  system.add_partition("sdb", "sdb1", {8, 17});
  system.add_virtual("dm-0", {253, 0}, {"sdb1"});
  system.mount("253:0", "/home", "/dev/mapper/home");
  EXPECT_THAT(complaints(system, disk),
              testing::Contains(HasSubstr("is in use: mounted on /home")));
}

TEST_F(RawGateTest, RefusesTheDiskUnderRoot) {
  EXPECT_THAT(complaints(system, system.node("sda"), "S0"),
              testing::Contains(HasSubstr("is the disk under /")));
  // The same through encryption and a logical volume.
  FakeSystem other;
  other.add_disk("nvme0n1", {259, 0}, "S1");
  other.add_partition("nvme0n1", "nvme0n1p3", {259, 3});
  other.add_virtual("dm-0", {253, 0}, {"nvme0n1p3"});
  other.add_virtual("dm-1", {253, 1}, {"dm-0"});
  other.mount("253:1", "/", "/dev/mapper/root");
  EXPECT_THAT(complaints(other, other.node("nvme0n1")),
              testing::Contains(HasSubstr("is the disk under /")));
  EXPECT_EQ(system.opened + other.opened, 0);
}

TEST_F(RawGateTest, RefusesSwapSpace) {
  system.swap(disk.string(), "partition");
  expect_unopened_refusal("is in use: swap space");
}

TEST_F(RawGateTest, RefusesWhileAUseCannotBeTraced) {
  system.swap("/dev/gone", "partition");
  expect_unopened_refusal("may be in use: nobody can tell which disk is swap space /dev/gone");
}

TEST_F(RawGateTest, RefusesWhileAMountCannotBeTraced) {
  system.mount("259:7", "/data", "/dev/nvme3n1");
  expect_unopened_refusal("may be in use: nobody can tell which disk is mounted on /data");
}

TEST_F(RawGateTest, AllowsSwapInAFileElsewhere) {
  system.swap("/swapfile", "file");
  EXPECT_THAT(complaints(system, disk), ElementsAre());
}

TEST_F(RawGateTest, RefusesWhenNobodyKnowsWhatIsInUse) {
  system.remove("proc/swaps");
  EXPECT_THROW(RawGate(system, disk, "S1"), DeviceError);
}

TEST_F(RawGateTest, RefusesAnotherSerialNumber) {
  EXPECT_THAT(complaints(system, disk, "S0"),
              ElementsAre(AllOf(HasSubstr("has the serial number S1, not \"S0\""),
                                HasSubstr("--allow-raw S1"))));
  EXPECT_THAT(complaints(system, disk, ""), ElementsAre(HasSubstr("not \"\"")));
  EXPECT_THAT(complaints(system, disk, "S"), ElementsAre(HasSubstr("not \"S\"")));
  EXPECT_EQ(system.opened, 0);
}

TEST_F(RawGateTest, RefusesADiskWithoutSerialNumber) {
  system.add_disk("sdc", {8, 32}, "");
  EXPECT_THAT(complaints(system, system.node("sdc"), ""),
              ElementsAre(HasSubstr("has no serial number")));
}

TEST_F(RawGateTest, RefusesANumberThatTwoDisksHave) {
  system.add_disk("sdc", {8, 32}, "S1");
  expect_unopened_refusal("shares the serial number S1 with sdc");
  // The worldwide identifier tells them apart.
  system.set("sdb", "wwid", "eui.01");
  system.set("sdc", "wwid", "eui.02");
  EXPECT_THAT(complaints(system, disk, "S1"), ElementsAre(HasSubstr("--allow-raw eui.01")));
  EXPECT_THAT(complaints(system, disk, "eui.01"), ElementsAre());
}

TEST_F(RawGateTest, TakesTheSerialNumberFromUdevToo) {
  const auto other = system.add_disk("vdb", {254, 16}, "");
  system.write("udev/data/b254:16",
               "S:disk/by-id/x\nE:ID_SERIAL=VENDOR_77\nE:ID_SERIAL_SHORT=77\n");
  EXPECT_THAT(complaints(system, other, "77"), ElementsAre());
  EXPECT_THAT(complaints(system, other, "VENDOR_77"), ElementsAre());
}

TEST_F(RawGateTest, NamesAllRefusalsAtOnce) {
  system.set("sdb", "removable", "1");
  system.mount("8:16", "/mnt", "/dev/sdb");
  EXPECT_THAT(complaints(system, disk, "S7"),
              ElementsAre(HasSubstr("removable"), HasSubstr("/mnt"), HasSubstr("S7")));
}

TEST_F(RawGateTest, RefusesWhatTheKernelRefuses) {
  const std::pair<int, std::string> cases[] = {
      {EBUSY, "is in use by somebody else"}, {EACCES, "may not be opened"}, {EROFS, "read-only"}};
  for (const auto& [code, found] : cases) {
    system.open_error = code;
    expect_refusal(found);
  }
  system.open_error = EIO;
  EXPECT_THROW(RawGate(system, disk, "S1"), DeviceError);
}

TEST_F(RawGateTest, RefusesADeviceThatChangedWhileItWasOpened) {
  system.other_device = DeviceNumber{8, 0};
  expect_refusal("became another device");
}

TEST_F(RawGateTest, LooksAgainWhenItHoldsTheDevice) {
  system.while_opening = [this] { system.mount("8:16", "/late", "/dev/sdb"); };
  expect_refusal("is in use: mounted on /late");
}

TEST_F(RawGateTest, RefusesADeviceThatIsReadOnlyByTheCall) {
  system.call_says_read_only = true;
  expect_refusal("is read-only");
}

TEST_F(RawGateTest, RefusesAPartitionTable) {
  system.put("sdb", 450, char(0x83));  // one Linux partition: type, start 1, length 100
  system.put("sdb", 454, 1);
  system.put("sdb", 458, 100);
  system.put("sdb", 510, char(0x55));
  system.put("sdb", 511, char(0xAA));
  expect_refusal("holds a partition table (dos)");
}

TEST_F(RawGateTest, RefusesDataThatNobodyKnows) {
  // The first byte, the last, the end of the first MiB, and the first sampled block behind it:
  // 15 MiB / 257 = 61,200; 18 x 61,200 = 1,101,600 lies in the block that starts at 1,097,728.
  for (const std::uint64_t offset : {std::uint64_t(0), (std::uint64_t(16) << 20) - 1,
                                     (std::uint64_t(1) << 20) - 1, std::uint64_t(1097728)}) {
    system.put("sdb", offset, 1);
    expect_refusal("holds data at byte");
    system.put("sdb", offset, 0);
  }
  EXPECT_THAT(complaints(system, disk), ElementsAre());
}

TEST_F(RawGateTest, RefusesADiskTooSmallToUse) {
  std::filesystem::resize_file(disk, (2 << 20) - 1);
  expect_refusal("too few to use");
}

TEST_F(RawGateTest, WritesNothingUntilTheSerialNumberIsTyped) {
  const auto before = std::filesystem::last_write_time(disk);
  for (const std::string typed : {"", "s1", "S1 ", "S0"}) {
    RawGate gate(system, disk, "S1");
    gate.statement({});
    EXPECT_THROW(std::move(gate).open(typed), ScenarioError) << typed;
  }
  EXPECT_THROW(RawGate(system, disk, "S1").open("S1"), InternalError);  // no statement
  EXPECT_EQ(std::filesystem::last_write_time(disk), before);
  EXPECT_FALSE(RawGate(system, disk, "S1").drive().ours);
}

TEST_F(RawGateTest, RefusesEveryWriteOutsideAndBetweenBlocks) {
  RawGate gate(system, disk, "S1");
  gate.statement({});
  const RawDevice device = std::move(gate).open("S1");
  const std::uint64_t end = device.size();
  const std::vector<std::byte> block(512, std::byte(1));
  EXPECT_NO_THROW(device.write(end - 512, block));
  EXPECT_THROW(device.write(end, block), InternalError);
  EXPECT_THROW(device.write(end + 512, block), InternalError);
  EXPECT_THROW(device.write(~std::uint64_t(511), block), InternalError);
  EXPECT_THROW(device.require_inside(512, ~std::uint64_t(0) - 511), InternalError);
  EXPECT_THROW(device.write(1, block), InternalError);
  EXPECT_THROW(device.require_inside(0, 100), InternalError);
  EXPECT_NO_THROW(device.require_inside(end, 0));
  // The mark behind the end is whole: the next run still knows the disk.
  EXPECT_TRUE(RawGate(system, disk, "S1").drive().ours);
}

TEST_F(RawGateTest, HoldsTheDeviceUntilItIsGivenBack) {
  int fd = -1;
  {
    RawGate gate(system, disk, "S1");
    gate.statement({});
    const RawDevice device = std::move(gate).open("S1");
    fd = device.fd();
    EXPECT_NE(fcntl(fd, F_GETFD), -1);
  }
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

TEST_F(RawGateTest, SaysWhatIsLostAndWhatItWearsOff) {
  // 140 GB a step, 50 steps: 7 TB; 7 TB of 7 PB are 0.1 %.
  RawGate gate(system, disk, "S1");
  EXPECT_THAT(gate.statement({140e9, 50, 7e15}),
              AllOf(HasSubstr("A drive, serial number S1, 16.8 MB, found empty"),
                    HasSubstr("140 GB a step, 7 TB in 50 steps: 0.1 % of the 7 PB"),
                    HasSubstr("Type its serial number")));
  EXPECT_THAT(gate.statement({140e9, 50, std::nullopt}), HasSubstr("its rating is not known"));
}

}  // namespace

}  // namespace spillway::hw_backend
