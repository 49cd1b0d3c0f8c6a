#include "hw_backend/storage/store_directory.hpp"
#include "hw_backend/storage/store_names.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <csignal>
#include <cstdlib>
#include <fstream>

namespace spillway::hw_backend {
namespace {

namespace fs = std::filesystem;
using description::DeviceError;
using description::ScenarioError;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class StoreDirectoryTest : public testing::Test {
 protected:
  const fs::path& dir() const { return scratch_.path(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir()), {}));
  }
  /// A store with one file that its process left behind when it was killed.
  fs::path abandoned() {
    const pid_t child = fork();
    if (child == 0) {
      StoreDirectory store(dir(), 0);
      const auto file = store.create("left", 8192);
      raise(SIGKILL);
    }
    waitpid(child, nullptr, 0);
    for (const auto& entry : fs::directory_iterator(dir())) {
      if (fs::exists(entry.path() / "left.data")) return entry.path();
    }
    return {};
  }

 private:
  ScratchDirectory scratch_;
};

TEST_F(StoreDirectoryTest, LeavesNothingBehind) {
  {
    StoreDirectory store(dir(), 0);
    EXPECT_EQ(entries(), 1u);
    const auto file = store.create("rank0", 5000);
    EXPECT_EQ(file->path(), store.path() / "rank0.data");
    EXPECT_EQ(file->target().size(), 8192u);
    struct stat status {};
    ASSERT_EQ(stat(file->path().c_str(), &status), 0);
    EXPECT_GE(status.st_blocks * 512, 8192);
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(StoreDirectoryTest, DeletesAFileWithItsOwner) {
  StoreDirectory store(dir(), 0);
  auto file = store.create("tensor", 4096);
  const fs::path path = file->path();
  EXPECT_TRUE(fs::exists(path));
  EXPECT_THAT([&] { store.create("tensor", 4096); },
              ThrowsMessage<DeviceError>(HasSubstr("EEXIST")));
  file.reset();
  EXPECT_FALSE(fs::exists(path));
  EXPECT_NO_THROW(store.create("tensor", 4096));
}

TEST_F(StoreDirectoryTest, RemovesWhatAKilledProcessLeft) {
  const fs::path left = abandoned();
  ASSERT_FALSE(left.empty());
  const StoreDirectory store(dir(), 0);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(store.removed().directories, 1u);
  EXPECT_GE(store.removed().bytes, 8192u);
}

TEST_F(StoreDirectoryTest, LeavesAloneWhatAProcessHolds) {
  const StoreDirectory first(dir(), 0);
  const StoreDirectory second(dir(), 0);
  EXPECT_TRUE(fs::exists(first.path()));
  EXPECT_EQ(second.removed().directories, 0u);
}

TEST_F(StoreDirectoryTest, TouchesNothingThatIsNotOurs) {
  const std::string line =
      "spillway store: the next start removes it once no process locks this "
      "file\n";
  // Our name without LOCK, with another LOCK, with a file of somebody else; another name; a link.
  for (const char* name : {"spillway.0123456789abcdef", "spillway.0123456789abcde0",
                           "spillway.0123456789abcde1", "spillway.mine", "other"}) {
    fs::create_directory(dir() / name);
    std::ofstream(dir() / name / "a.data") << "keep";
  }
  std::ofstream(dir() / "spillway.0123456789abcde0" / "LOCK") << "something else";
  std::ofstream(dir() / "spillway.0123456789abcde1" / "LOCK")
      << line << "process 7\nboot " << boot_id() << "\n";
  std::ofstream(dir() / "spillway.0123456789abcde1" / "notes.txt") << "keep";
  std::ofstream(dir() / "spillway.mine" / "LOCK") << line;
  std::ofstream(dir() / "other" / "LOCK") << line;
  fs::create_directory_symlink(dir() / "other", dir() / "spillway.0123456789abcde2");
  const StoreDirectory store(dir(), 0);
  for (const char* name : {"spillway.0123456789abcdef", "spillway.0123456789abcde0",
                           "spillway.0123456789abcde1", "spillway.mine", "other"}) {
    EXPECT_TRUE(fs::exists(dir() / name / "a.data")) << name;
  }
  // each is named, so that what a loss of power left takes no space in silence
  EXPECT_THAT(store.removed().kept,
              testing::UnorderedElementsAre(
                  AllOf(HasSubstr("cdef: "), HasSubstr("no LOCK that says whose they are")),
                  AllOf(HasSubstr("cde0: "), HasSubstr("its LOCK is none of ours")),
                  AllOf(HasSubstr("cde1: "), HasSubstr("holds notes.txt, which no run of ours"))));
}

TEST_F(StoreDirectoryTest, NamesWhatALossOfPowerLeftAndRemovesWhatHoldsNothing) {
  const auto store_of = [&](char last) {
    const fs::path path = dir() / ("spillway.0123456789abcde" + std::string(1, last));
    fs::create_directory(path);
    return path;
  };
  const fs::path empty = store_of('0'), unlocked = store_of('1'), full = store_of('2');
  std::ofstream(unlocked / "LOCK").close();
  std::ofstream(full / "LOCK").close();
  std::ofstream(full / "a.data") << "left";
  const StoreDirectory store(dir(), 0);
  EXPECT_EQ(store.removed().directories, 2u);
  EXPECT_FALSE(fs::exists(empty) || fs::exists(unlocked));
  EXPECT_TRUE(fs::exists(full / "a.data"));
  EXPECT_THAT(store.removed().kept, testing::ElementsAre(HasSubstr("its LOCK is empty")));
}

TEST_F(StoreDirectoryTest, LeavesAloneWhatAnotherComputerMade) {
  const fs::path left = abandoned();
  ASSERT_FALSE(left.empty());
  const std::string text(
      "spillway store: the next start removes it once no process locks this file\nprocess 7\nboot "
      "00000000-0000-0000-0000-000000000000\nhost far\n");
  std::ofstream(left / "LOCK") << text;  // its lock, if there is one, is not seen here
  const StoreDirectory store(dir(), 0);
  EXPECT_TRUE(fs::exists(left / "left.data"));
  EXPECT_THAT(store.removed().kept, testing::ElementsAre(AllOf(HasSubstr("process 7"),
                                                               HasSubstr("another computer (far)"),
                                                               HasSubstr("remove it with rm -r"))));
}

TEST_F(StoreDirectoryTest, LeavesAloneWhatAnotherUserMade) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIP: not root, whom nothing else keeps from it";
  const fs::path left = abandoned();
  ASSERT_EQ(chown(left.c_str(), 12345, 12345), 0);
  const StoreDirectory store(dir(), 0);
  EXPECT_TRUE(fs::exists(left / "left.data"));
  EXPECT_THAT(store.removed().kept, testing::ElementsAre(HasSubstr("another user (12345)")));
}

TEST_F(StoreDirectoryTest, RefusesAFolderThatOthersMayRenameIn) {
  chmod(dir().c_str(), 0777);
  EXPECT_THAT([&] { StoreDirectory(dir(), 0); },
              ThrowsMessage<ScenarioError>(
                  AllOf(HasSubstr("may be changed by all users"), HasSubstr("--shared-folders"))));
  EXPECT_EQ(entries(), 0u);
}

// Whoever may rename in a folder puts a link where the store was: nothing behind it is touched.
TEST_F(StoreDirectoryTest, RemovesNothingElsewhereWhenItsStoreIsExchanged) {
  const fs::path elsewhere = dir() / "elsewhere";
  fs::create_directory(elsewhere);
  for (const char* name : {"LOCK", "a.data", "b.data"}) std::ofstream(elsewhere / name) << "keep";
  {
    StoreDirectory store(dir(), 0);
    const auto a = store.create("a", 4096);
    fs::rename(store.path(), dir() / "moved");
    fs::create_directory_symlink(elsewhere, store.path());
    const auto b = store.create("b", 4096);
    EXPECT_TRUE(fs::exists(dir() / "moved/b.data"));  // it goes on in its own folder
  }
  for (const char* name : {"LOCK", "a.data", "b.data"}) {
    EXPECT_TRUE(fs::exists(elsewhere / name)) << name;
    EXPECT_FALSE(fs::exists(dir() / "moved" / name)) << name;
  }
}

TEST_F(StoreDirectoryTest, LeavesAFileThatTookTheNameOfItsOwn) {
  StoreDirectory store(dir(), 0);
  auto file = store.create("a", 4096);
  const fs::path path = file->path();
  fs::rename(path, dir() / "taken");
  std::ofstream(path) << "another's";
  file.reset();
  EXPECT_TRUE(fs::exists(path));
  fs::remove(path);
}

TEST_F(StoreDirectoryTest, LeavesNothingInAFolderThatItMayNotRead) {
  const std::string said = in_child([&]() -> std::string {
    chmod(dir().c_str(), 0733);
    if (getuid() == 0 && setuid(65534) != 0) return "cannot give up root";
    { StoreDirectory(dir(), 0).create("a", 4096); }
    return "done";
  });
  if (getuid() != 0) GTEST_SKIP() << "SKIP: not root, who alone has a folder that others write";
  EXPECT_EQ(entries(), 0u) << said;
}

TEST_F(StoreDirectoryTest, LooksBetweenThePiecesOfALongAllocation) {
  const std::string said = in_child([&]() -> std::string {
    if (!mount_tmpfs(dir(), std::uint64_t{1} << 32)) return "SKIP";
    int looks = 0;
    StoreDirectory store(dir(), 0, [&] {
      if (++looks == 2) throw std::runtime_error("stopped");
    });
    try {
      store.create("large", std::uint64_t{3} << 30);
    } catch (const std::runtime_error& error) {
      const auto left = std::distance(fs::directory_iterator(store.path()), {});
      return error.what() + std::string("; files: ") + std::to_string(left);
    }
    return "made";
  });
  if (said == "SKIP") GTEST_SKIP() << "no mount namespaces here";
  EXPECT_EQ(said, "stopped; files: 1");  // LOCK
}

// Files of ext2 have no extents that could be set aside unwritten.
TEST_F(StoreDirectoryTest, RefusesAFileSystemThatSetsNoSpaceAside) {
  const std::string said = in_child([&]() -> std::string {
    if (!mount_tmpfs(dir(), 64 << 20)) return "SKIP";
    const std::string at = dir().string();
    const std::string mounted = "cd " + at +
                                " && mkdir old && truncate -s 16M image && mkfs.ext2 -q" +
                                " image && mount -o loop image old";
    if (std::system(("{ " + mounted + "; } >/dev/null 2>&1").c_str()) != 0) return "SKIP";
    std::string text = "made";
    try {
      StoreDirectory(dir() / "old", 0).create("a", 4096);
    } catch (const DeviceError& error) {
      text = error.what();
    }
    umount((dir() / "old").c_str());
    return text;
  });
  if (said == "SKIP") GTEST_SKIP() << "SKIP: no mkfs.ext2 or no loop device";
  EXPECT_THAT(said, AllOf(HasSubstr("fallocate: "), HasSubstr("does not set space aside")));
}

TEST_F(StoreDirectoryTest, SaysWhetherTransfersPassThePageCache) {
  StoreDirectory store(dir(), 0);
  const auto file = store.create("a", 4096);
  EXPECT_EQ(store.direct(), file->target().direct());
}

TEST_F(StoreDirectoryTest, FollowsNoLinkOutOfALeftover) {
  const fs::path left = abandoned();
  std::ofstream(dir() / "precious") << "keep";
  fs::create_symlink(dir() / "precious", left / "link.data");
  const StoreDirectory store(dir(), 0);
  EXPECT_TRUE(fs::exists(dir() / "precious"));
  EXPECT_THAT(store.removed().kept, testing::ElementsAre(HasSubstr("holds link.data")));
}

TEST_F(StoreDirectoryTest, AMistypedPathGetsTheNearestOne) {
  fs::create_directory(dir() / "nvme0");
  EXPECT_THAT([&] { StoreDirectory(dir() / "nmve0"); },
              ThrowsMessage<ScenarioError>(
                  HasSubstr("did you mean \"" + (dir() / "nvme0").string() + "\"?")));
  EXPECT_THAT([&] { StoreDirectory(dir() / "x" / "y" / "z"); },
              ThrowsMessage<ScenarioError>(HasSubstr("\"" + dir().string() + "\" does; name")));
  std::ofstream(dir() / "file") << "x";
  EXPECT_THAT([&] { StoreDirectory(dir() / "file"); },
              ThrowsMessage<ScenarioError>(HasSubstr("is no directory")));
  EXPECT_EQ(entries(), 2u);
}

TEST_F(StoreDirectoryTest, DevicesAreNoDirectories) {
  EXPECT_THAT([] { StoreDirectory("/dev/nvme9n9"); },
              ThrowsMessage<ScenarioError>(HasSubstr("lsblk")));
  EXPECT_THAT([] { StoreDirectory("/dev"); },
              ThrowsMessage<ScenarioError>(HasSubstr("where devices are named")));
  EXPECT_THAT([] { StoreDirectory("/dev/null"); },
              ThrowsMessage<ScenarioError>(HasSubstr("no directory")));
  for (const auto& entry : fs::directory_iterator("/dev")) {
    if (!entry.is_block_file()) continue;
    EXPECT_THAT([&] { StoreDirectory{entry.path()}; },
                ThrowsMessage<ScenarioError>(HasSubstr("--allow-raw SERIAL")));
    break;
  }
}

TEST_F(StoreDirectoryTest, NoRoomIsSaidBeforeAnythingIsWritten) {
  StoreDirectory store(dir(), std::uint64_t{1} << 30);
  EXPECT_THAT([&] { store.require_room(store.room() + (1 << 30)); },
              ThrowsMessage<DeviceError>(HasSubstr("1.00 GiB of the file system being kept free")));
  EXPECT_THROW(store.create("big", std::uint64_t{1} << 50), DeviceError);
  EXPECT_FALSE(fs::exists(store.path() / "big.data"));
}

TEST_F(StoreDirectoryTest, AFullDiskIsAnErrorThatLeavesNothing) {
  const std::string said = in_child([&] {
    if (!mount_tmpfs(dir(), 1 << 20)) return std::string("SKIP");
    std::string out;
    StoreDirectory store(dir(), 0);
    try {
      // What statvfs promises, a second file takes first.
      const auto first = store.create("first", 512 * 1024);
      store.create("second", 768 * 1024);
    } catch (const DeviceError& error) {
      out = error.what();
    }
    const auto left = std::distance(fs::directory_iterator(store.path()), {});
    return out + "; files: " + std::to_string(left) + (store.in_memory() ? ", in memory" : "");
  });
  if (said == "SKIP") GTEST_SKIP() << "no mount namespaces here";
  EXPECT_THAT(said, HasSubstr("ENOSPC"));
  EXPECT_THAT(said, HasSubstr("free space there, or name another directory"));
  EXPECT_THAT(said, testing::EndsWith("files: 1, in memory"));  // LOCK
}

TEST_F(StoreDirectoryTest, AFileSystemFullToTheLastByteHasNoPlaceForAStore) {
  const std::string said = in_child([&]() -> std::string {
    if (!mount_tmpfs(dir(), 1 << 16)) return "SKIP";
    std::ofstream(dir() / "all") << std::string(1 << 16, 'x');
    try {
      StoreDirectory(dir(), 0);
    } catch (const DeviceError& error) {
      return error.what() + std::string(entries() == 1 ? "; nothing left" : "; left");
    }
    return "made";
  });
  if (said == "SKIP") GTEST_SKIP() << "no mount namespaces here";
  EXPECT_THAT(said, HasSubstr("ENOSPC"));
  EXPECT_THAT(said, testing::EndsWith("; nothing left"));
}

TEST_F(StoreDirectoryTest, AFileSystemThatMakesNoDirectoriesIsNamed) {
  const std::string said = in_child([]() -> std::string {
    StoreDirectory store("/proc", 0);
    return "made";
  });
  EXPECT_THAT(said, HasSubstr("mkdir: /proc/spillway."));
  EXPECT_THAT(said, HasSubstr("its file system makes no directories"));
}

TEST_F(StoreDirectoryTest, AReadOnlyDirectoryNamesTheRemedy) {
  const std::string said = in_child([&]() -> std::string {
    if (!mount_tmpfs(dir(), 1 << 20, true)) return "SKIP";
    StoreDirectory store(dir(), 0);
    return "made";
  });
  if (said == "SKIP") GTEST_SKIP() << "no mount namespaces here";
  EXPECT_THAT(said, HasSubstr("mkdir: " + dir().string()));
  EXPECT_THAT(said, HasSubstr("EROFS"));
  EXPECT_THAT(said, HasSubstr("remount,rw"));
}

TEST_F(StoreDirectoryTest, ADirectoryOfSomebodyElseNamesTheRemedy) {
  const std::string said = in_child([&]() -> std::string {
    chmod(dir().c_str(), 0555);
    if (getuid() == 0 && setuid(65534) != 0) return "cannot give up root";
    StoreDirectory store(dir(), 0);
    return "made";
  });
  EXPECT_THAT(said, HasSubstr("EACCES"));
  EXPECT_THAT(said, HasSubstr("name a directory that you may write to"));
}

}  // namespace
}  // namespace spillway::hw_backend
