#include "hw_backend/storage/own_folder.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <fstream>

namespace spillway::hw_backend {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t somebody = 12345;

class OwnFolderTest : public testing::Test {
 protected:
  fs::path folder(const char* name, mode_t mode, uid_t owner = geteuid()) {
    const fs::path path = scratch_.path() / name;
    fs::create_directory(path);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(owner == geteuid() || lchown(path.c_str(), owner, owner) == 0);
    return path;
  }
  fs::path link(const fs::path& path, const fs::path& to, uid_t owner = geteuid()) {
    fs::create_symlink(to, path);
    EXPECT_TRUE(owner == geteuid() || lchown(path.c_str(), owner, owner) == 0);
    return path;
  }
  const fs::path& dir() const { return scratch_.path(); }
  ScratchDirectory scratch_;
};

TEST_F(OwnFolderTest, IsOneThatOnlyItsUserMayChange) {
  EXPECT_EQ(open_own_folder(folder("mine", 0755)).refusal, "");
  EXPECT_EQ(open_own_folder(folder("sticky", 01777)).refusal, "");  // there, too, nobody renames
  EXPECT_THAT(open_own_folder(folder("all", 0777)).refusal,
              HasSubstr("all\" may be changed by all"));
  EXPECT_EQ(open_own_folder(dir() / "mine/gone").error, ENOENT);
  std::ofstream(dir() / "file") << "x";
  EXPECT_EQ(open_own_folder(dir() / "file").error, ENOTDIR);
  EXPECT_EQ(open_own_folder(link(dir() / "loop", "loop")).error, ELOOP);
}

TEST_F(OwnFolderTest, IsNotOneOfAnotherUserNorBelowHis) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIP: not root, who alone gives folders away";
  const fs::path his = folder("his", 0755, somebody);
  EXPECT_THAT(open_own_folder(his).refusal, HasSubstr("belongs to another user (12345)"));
  fs::create_directory(his / "mine");
  EXPECT_THAT(open_own_folder(his / "mine").refusal, HasSubstr("another user"));
  EXPECT_EQ(chown(folder("team", 0775).c_str(), 0, 12345), 0);
  EXPECT_THAT(open_own_folder(dir() / "team").refusal, HasSubstr("by its group (12345)"));
}

TEST_F(OwnFolderTest, IsReachedByLinksOfItsUserAlone) {
  const fs::path mine = folder("mine", 0755);
  const fs::path sticky = folder("sticky", 01777);
  EXPECT_EQ(open_own_folder(link(sticky / "own", mine)).refusal, "");
  const OwnFolder at = open_own_parent(link(mine / "out", "../sticky/x.json"));
  EXPECT_EQ(at.name, "x.json");
  EXPECT_EQ(identity_of(at.folder.get()), identity_of(open_own_folder(sticky).folder.get()));
  if (geteuid() != 0) GTEST_SKIP() << "SKIP: not root, who alone gives links away";
  EXPECT_THAT(open_own_folder(link(sticky / "his", mine, somebody)).refusal,
              HasSubstr("sticky/his\" belongs to another user"));
  EXPECT_THAT(open_own_parent(link(sticky / "last", mine / "x", somebody)).refusal,
              HasSubstr("another user"));
}

TEST_F(OwnFolderTest, NamesTheLastPartOfAFile) {
  EXPECT_EQ(open_own_parent(dir() / "a.json").name, "a.json");
  EXPECT_EQ(open_own_parent("a.json").name, "a.json");
  EXPECT_EQ(open_own_parent(dir() / "").error, EISDIR);
  EXPECT_EQ(open_own_parent("/").error, EISDIR);
  EXPECT_EQ(open_own_parent(dir() / "gone/a.json").error, ENOENT);
  EXPECT_EQ(open_own_parent("/proc/self/fd/1").name, "1");
}

TEST_F(OwnFolderTest, IsOneOfRootWhereRootIsNotKnown) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIP: not root, who alone gives folders away";
  const fs::path his = folder("his", 0755, somebody);
  const std::string said = in_child([&]() -> std::string {
    if (unshare(CLONE_NEWUSER) != 0) return "SKIP";
    std::ofstream("/proc/self/uid_map") << "0 0 1";
    return open_own_folder(his).refusal;
  });
  if (said == "SKIP") GTEST_SKIP() << "SKIP: no namespaces here";
  EXPECT_EQ(said, "");
}

TEST_F(OwnFolderTest, AnyFolderIsTakenOnceTheUserSaysSo) {
  const fs::path all = folder("all", 0777);
  EXPECT_EQ(in_child([&] {
              accept_shared_folders();
              return open_own_folder(all).refusal;
            }),
            "");
}

TEST_F(OwnFolderTest, RemovesWhatItMadeAndNothingInItsPlace) {
  const OwnFolder here = open_own_folder(dir());
  std::ofstream(dir() / "a") << "mine";
  const Identity made = identity_in(here.folder.get(), "a");
  fs::rename(dir() / "a", dir() / "moved");
  std::ofstream(dir() / "a") << "another's";
  EXPECT_EQ(remove_made(here.folder.get(), "a", made), ESTALE);
  EXPECT_TRUE(fs::exists(dir() / "a"));
  EXPECT_EQ(remove_made(here.folder.get(), "moved", made), 0);
  EXPECT_FALSE(fs::exists(dir() / "moved"));
  EXPECT_EQ(remove_made(here.folder.get(), "moved", made), ESTALE);
}

}  // namespace
}  // namespace spillway::hw_backend
