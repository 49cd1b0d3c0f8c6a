#include "hw_backend/raw_device/root_rights.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

namespace spillway::hw_backend {
namespace {

constexpr Person nobody{65534, 65534};

/// Whether `work` says yes in a process of its own, which may give up what it likes.
bool in_process(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      _exit(work() ? 0 : 1);
    } catch (const std::exception& error) {
      static_cast<void>(!write(STDERR_FILENO, error.what(), std::string(error.what()).size()));
      _exit(2);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool opens(const char* file, int flags) {
  const int fd = open(file, flags | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

class RootRights : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "SKIP: not root, who alone has them";
  }
};

TEST_F(RootRights, AreGoneForGoodOnceSomebodyElseGoesOn) {
  EXPECT_TRUE(in_process([] {
    const int held = open("/etc/shadow", O_RDONLY);
    return give_up_root(nobody).find("65534") != std::string::npos && geteuid() == 65534 &&
           getegid() == 65534 && setuid(0) != 0 && !opens("/etc/shadow", O_RDONLY) &&
           fcntl(held, F_GETFD) >= 0;  // what was opened stays open
  }));
}

TEST_F(RootRights, AreNotNeededForWhatARunTakes) {
  EXPECT_TRUE(in_process([] {
    give_up_root(nobody);
    const std::size_t bytes = 64u << 20;  // more than the usual limit of 8 MiB
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mlock(memory, bytes) == 0 && opens("/proc/self/smaps_rollup", O_RDONLY) &&
           opens("/proc/self/clear_refs", O_WRONLY) &&
           std::filesystem::directory_iterator("/proc/self/fd") !=
               std::filesystem::directory_iterator();
  }));
}

TEST_F(RootRights, LeaveRootWithoutCapabilitiesWhereNobodyCalledSudo) {
  EXPECT_TRUE(in_process([] {
    give_up_root(std::nullopt);
    std::ifstream status("/proc/self/status");
    const std::string only_ipc_lock = "0000000000004000";  // bit 14
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("CapEff:")) return line.ends_with(only_ipc_lock);
    return false;
  }));
}

TEST(CallerOfSudo, IsReadWholeOrNotAtAll) {
  const auto with = [](const char* user, const char* group) {
    setenv("SUDO_UID", user, 1), setenv("SUDO_GID", group, 1);
    return caller_of_sudo();
  };
  const auto person = with("1000", "100");
  ASSERT_TRUE(person);
  EXPECT_EQ(person->user, 1000u);
  EXPECT_EQ(person->group, 100u);
  for (const char* wrong : {"", "0", "-1", "1x", " 1", "4294967295", "99999999999"})
    EXPECT_FALSE(with(wrong, "100")) << wrong;
  EXPECT_FALSE(with("1000", ""));
  unsetenv("SUDO_UID"), unsetenv("SUDO_GID");
  EXPECT_FALSE(caller_of_sudo());
}

}  // namespace
}  // namespace spillway::hw_backend
