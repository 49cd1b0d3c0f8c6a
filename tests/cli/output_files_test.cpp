#include "cli/output_files.hpp"
#include "scenarios/description/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace spillway::cli {
namespace {

namespace fs = std::filesystem;
using description::DeviceError;
using description::ScenarioError;
using testing::HasSubstr;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

constexpr uid_t somebody = 12345;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class OutputFiles : public testing::Test {
 protected:
  OutputFiles() {
    std::string name = (fs::temp_directory_path() / "spillway_outputs_XXXXXX").string();
    folder = mkdtemp(name.data());
  }
  ~OutputFiles() override { fs::remove_all(folder); }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder))
      found.push_back(entry.path().filename().string());
    return found;
  }
  std::string at(const std::string& name) const { return (folder / name).string(); }
  mode_t mode(const std::string& name) const {
    struct stat status {};
    return stat(at(name).c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }

  fs::path folder;
};

TEST_F(OutputFiles, ReplaceAFileWholeAndLeaveNothingBesideIt) {
  write_file(at("a.txt"), "a longer text\n");
  write_file(at("a.txt"), "short\n");
  EXPECT_EQ(text_of(at("a.txt")), "short\n");
  EXPECT_THROW(write_file(at("gone/a.txt"), "x"), ScenarioError);
  EXPECT_THROW(write_file(folder.string(), "x"), ScenarioError);
  EXPECT_THAT(names(), UnorderedElementsAre("a.txt"));
}

TEST_F(OutputFiles, KeepTheModeOfWhatTheyReplace) {
  for (const mode_t wanted : {0600, 0640, 0755}) {
    write_file(at("a"), "old");
    ASSERT_EQ(chmod(at("a").c_str(), wanted), 0);
    write_file(at("a"), "new");
    EXPECT_EQ(mode("a"), wanted);
    EXPECT_EQ(text_of(at("a")), "new");
    fs::remove(at("a"));
  }
}

// Names that can be foreseen are taken by links of somebody who wants another's file overwritten.
TEST_F(OutputFiles, GoThroughNoNameThatCanBeForeseen) {
  std::ofstream(at("precious")) << "keep";
  for (pid_t pid = getpid() - 50; pid < getpid() + 50; ++pid)
    fs::create_symlink("precious", at("a.part" + std::to_string(pid)));
  write_file(at("a"), "text");
  EXPECT_EQ(text_of(at("precious")), "keep");
  EXPECT_FALSE(fs::is_symlink(at("a")));
}

TEST_F(OutputFiles, FollowALinkOfTheirUserAndNoOneElses) {
  std::ofstream(at("target")) << "old";
  fs::create_symlink("target", at("link"));
  write_file(at("link"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(text_of(at("target")), "new");
  if (geteuid() != 0) GTEST_SKIP() << "SKIP: not root, who alone gives links away";
  ASSERT_EQ(lchown(at("link").c_str(), somebody, somebody), 0);
  EXPECT_THAT([&] { write_file(at("link"), "x"); },
              ThrowsMessage<ScenarioError>(HasSubstr("belongs to another user (12345)")));
  ASSERT_EQ(lchown(at("target").c_str(), somebody, somebody), 0);
  EXPECT_THAT([&] { write_file(at("target"), "x"); },
              ThrowsMessage<ScenarioError>(HasSubstr("--shared-folders")));
  EXPECT_EQ(text_of(at("target")), "new");
}

TEST_F(OutputFiles, GoNowhereThatOthersMayRename) {
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  EXPECT_THAT([&] { write_file(at("a"), "x"); },
              ThrowsMessage<ScenarioError>(HasSubstr("may be changed by all users")));
  EXPECT_THAT([&] { require_writable("--out", at("a")); },
              ThrowsMessage<ScenarioError>(HasSubstr("may be changed by all users")));
  EXPECT_TRUE(names().empty());
}

TEST_F(OutputFiles, AreAllThereOrNone) {
  write_files({{at("a"), "1"}, {at("b"), "2"}});
  EXPECT_EQ(text_of(at("a")) + text_of(at("b")), "12");
  fs::create_directory(at("folder"));
  EXPECT_THROW(write_files({{at("a"), "3"}, {at("new"), "3"}, {at("folder"), "3"}}), ScenarioError);
  EXPECT_EQ(text_of(at("a")), "1");
  EXPECT_THAT(names(), UnorderedElementsAre("a", "b", "folder"));
}

// The last of them fails when the others are in their places already.
TEST_F(OutputFiles, ComeBackAsTheyWereWhenTheLastFails) {
  std::ofstream(at("a")) << "old";
  EXPECT_THROW(write_files({{at("a"), "new"}, {at("b"), "new"}, {"/dev/full", "new"}}),
               DeviceError);
  EXPECT_EQ(text_of(at("a")), "old");
  EXPECT_THAT(names(), UnorderedElementsAre("a"));
}

/// What `work` says in a process of its own.
std::string in_process(const std::function<std::string()>& work) {
  int ends[2] = {};
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string said = work();
    _exit(::write(ends[1], said.data(), said.size()) < 0);
  }
  close(ends[1]);
  std::string said(4096, '\0');
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(ends[0], said.data(), 4096))));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return said;
}

TEST_F(OutputFiles, SayThatADriveIsFullAndLeaveWhatWasThere) {
  const std::string said = in_process([&]() -> std::string {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k,mode=0755") != 0)
      return "SKIP";
    std::ofstream(at("a")) << "old";
    try {
      write_files({{at("b"), "small"}, {at("a"), std::string(100'000, 'x')}});
    } catch (const DeviceError& error) {
      const bool whole = names() == std::vector<std::string>{"a"} && text_of(at("a")) == "old";
      return error.what() + std::string(whole ? "; whole" : "; broken");
    }
    return "written";
  });
  if (said == "SKIP") GTEST_SKIP() << "SKIP: no mounts here";
  EXPECT_THAT(said, HasSubstr("ENOSPC"));
  EXPECT_THAT(said, HasSubstr("free space there"));
  EXPECT_THAT(said, testing::EndsWith("; whole"));
}

TEST_F(OutputFiles, SayThatALimitIsReached) {
  const std::string said = in_process([&]() -> std::string {
    std::signal(SIGXFSZ, SIG_IGN);  // as run_program has it
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_file(at("a"), std::string(10'000, 'x'));
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "written";
  });
  EXPECT_THAT(said, HasSubstr("ulimit -f"));
  EXPECT_TRUE(names().empty());
}

TEST_F(OutputFiles, GoIntoAPipeThatSomebodyReads) {
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  const std::string read = in_process([&] {
    const pid_t reader = fork();
    if (reader != 0) {
      write_file(at("pipe"), "text");
      _exit(0);
    }
    return text_of(at("pipe"));
  });
  EXPECT_EQ(read, "text");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  EXPECT_THAT([&] { write_file(at("pipe"), "x"); },
              ThrowsMessage<ScenarioError>(HasSubstr("no program reads from it")));
}

TEST_F(OutputFiles, GoWhereStandardOutputGoes) {
  const std::string said = in_process([&]() -> std::string {
    if (!std::freopen(at("log").c_str(), "w", stdout)) return "no file";
    std::puts("before");
    std::fflush(stdout);
    write_file("/dev/stdout", "text");
    return "done";
  });
  EXPECT_EQ(said, "done");
  EXPECT_EQ(text_of(at("log")), "before\ntext");
}

TEST_F(OutputFiles, WaitWithASignalUntilTheyAreWhole) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGALRM, [](int) { raise(SIGTERM); });
    ualarm(2000, 0);
    write_file(at("a"), std::string(64u << 20, 'x'));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  for (const std::string& name : names()) EXPECT_EQ(name, "a");
  EXPECT_TRUE(!fs::exists(at("a")) || fs::file_size(at("a")) == 64u << 20);
}

std::string why_not_writable(const fs::path& path) {
  try {
    require_writable("--out", path.string());
  } catch (const description::ScenarioError& error) {
    EXPECT_EQ(error.complaints().front().path, "--out");
    return error.what();
  }
  return "";
}

TEST(RequireWritable, RefusesFoldersAndWhatCannotBeReached) {
  const fs::path folder = fs::temp_directory_path() / "spillway_require_writable";
  fs::create_directory(folder);
  std::ofstream(folder / "old.json") << "old";
  fs::create_symlink("loop", folder / "loop");  // whose status is an error, also for root
  EXPECT_EQ(why_not_writable(folder / "new.json"), "");
  EXPECT_EQ(why_not_writable(folder / "old.json"), "");
  EXPECT_EQ(why_not_writable("/dev/null"), "");
  for (const fs::path& path : {folder, folder / "loop", folder / "missing/new.json"})
    EXPECT_NE(why_not_writable(path).find("cannot be written"), std::string::npos) << path;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace spillway::cli
