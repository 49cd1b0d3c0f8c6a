#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace spillway::e2e {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::string tiny = "spillway simulate scenarios/examples/tiny.json ";
const std::string refused = "tests/data/ds_config_autotuner_refused.json";

TEST(Delivery, WritesNothingAfterAnError) {
  const Workplace place;
  EXPECT_EQ(shell(place, tiny + "--trace out.json --set training.micro_batch=0").exit, 2);
  EXPECT_EQ(
      shell(place, "spillway import " + refused + " --model gpt2 --machine gaming_4090 -o out.json")
          .exit,
      2);
  EXPECT_EQ(shell(place, "spillway export gone.json -o out.json").exit, 2);
  EXPECT_THAT(place.files(), IsEmpty());
}

TEST(Delivery, LeavesTheFileThatWasThereAfterAnError) {
  const Workplace place;
  place.write("out.json", "old");
  EXPECT_EQ(shell(place, "spillway export gone.json -o out.json").exit, 2);
  EXPECT_EQ(file_text(place.path() / "out.json"), "old");
  EXPECT_EQ(
      shell(place,
            "spillway export scenarios/examples/tiny.json --nearest --nvme-path /fast -o out.json")
          .exit,
      0);
  EXPECT_THAT(file_text(place.path() / "out.json"), HasSubstr("zero_optimization"));
}

TEST(Delivery, SaysThatAFileCannotBeWrittenAndPrintsNoReport) {
  const Workplace place;
  std::filesystem::create_directory(place.path() / "folder");
  for (const char* target : {"gone/out.json", "folder"}) {
    const Ended trace = shell(place, tiny + "--trace " + target);
    EXPECT_EQ(trace.exit, 2) << target;
    EXPECT_EQ(trace.out, "") << target;
    EXPECT_THAT(trace.err, HasSubstr(std::string(target) + ": cannot be written")) << target;
  }
  EXPECT_THAT(place.files(), testing::ElementsAre("folder"));
  EXPECT_TRUE(std::filesystem::is_empty(place.path() / "folder"));
}

TEST(Delivery, IsADevicesErrorWhenStandardOutputIsFull) {
  const Ended ended = shell(Workplace(), "spillway systems >/dev/full");
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.err, HasSubstr("standard output: No space left on device"));
}

TEST(Delivery, IsADevicesErrorWhenTheSimulatorIsMissing) {
  const Ended ended = shell(Workplace(), "SPILLWAY_PLUGINS=/nowhere " + tiny);
  EXPECT_EQ(ended.exit, 3);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("/nowhere/spillway_sim.so"));
}

TEST(Delivery, FollowsALinkAndWritesIntoADevice) {
  const Workplace place;
  const std::string command =
      "spillway export scenarios/examples/tiny.json --nearest --nvme-path /fast -o ";
  place.write("target.json", "old");
  std::filesystem::create_symlink("target.json", place.path() / "link.json");
  EXPECT_EQ(shell(place, command + "link.json").exit, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(place.path() / "link.json"));
  EXPECT_THAT(file_text(place.path() / "target.json"), HasSubstr("zero_optimization"));
  EXPECT_EQ(shell(place, "mkfifo pipe; cat pipe >read & " + command + "pipe; wait").exit, 0);
  EXPECT_EQ(file_text(place.path() / "read"), file_text(place.path() / "target.json"));
  EXPECT_TRUE(std::filesystem::is_fifo(place.path() / "pipe"));
}

/// What compares a system whose simulation, a child of the program, runs into a limit on CPU time;
/// the program itself computes next to nothing.
Ended compared_under(const std::string& options) {
  return shell(Workplace(),
               "ulimit -c 0; ulimit " + options +
                   " -t 2; spillway compare scenarios/examples/tiny.json --set run.steps=100000 "
                   "--system zero_infinity");
}

// Beyond the soft limit a process gets SIGXCPU, which ends it as a crash does.
TEST(Delivery, IsABugOfOursWhenASimulationCrashes) {
  LONG_TEST();
  const Ended ended = compared_under("-S");
  EXPECT_EQ(ended.exit, 4);
  EXPECT_THAT(ended.out, HasSubstr("a bug of spillway"));
  EXPECT_THAT(ended.err, HasSubstr("a bug of spillway: the simulation was ended by signal"));
}

// At the hard limit, set here with the soft one, a process gets SIGKILL, as from a system that is
// out of memory.
TEST(Delivery, IsADevicesErrorWhenASimulationIsKilledFromOutside) {
  LONG_TEST();
  const Ended ended = compared_under("");
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.out, HasSubstr("by signal Killed"));
}

/// Waits until `done` or ten seconds are over.
template <class Done>
bool in_time(Done done) {
  for (int i = 0; i < 1000; ++i) {
    if (done()) return true;
    ::usleep(10'000);
  }
  return false;
}

/// Whether a process that it started lives. The second field after the name in /proc/PID/stat is
/// the parent's number.
bool has_child(pid_t process) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos)
      continue;
    std::ifstream file(entry.path() / "stat");
    const std::string stat(std::istreambuf_iterator<char>(file), {});
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream fields(stat.substr(name_end + 1));
    std::string state;
    pid_t parent = 0;
    if (fields >> state >> parent && parent == process) return true;
  }
  return false;
}

// Steps enough for minutes. A terminal sends Ctrl-C to the simulations as well; here the program
// alone hears it and its simulations must end all the same.
TEST(Delivery, StopsAtCtrlCAndLeavesNoFileAndNoProcess) {
  const Workplace place;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of the program become ours
  const pid_t program = ::fork();
  if (program == 0) {
    ::setpgid(0, 0);
    std::signal(SIGINT, SIG_DFL);
    const std::string scenario = std::string(SPILLWAY_SOURCE_DIR) + "/scenarios/examples/tiny.json";
    if (::chdir(place.path().c_str()) == 0 && std::freopen("report", "w", stdout))
      ::execl(SPILLWAY_PROGRAM, "spillway", "simulate", scenario.c_str(), "--trace", "out.json",
              "--set", "run.steps=100000", nullptr);
    ::_exit(127);
  }
  EXPECT_TRUE(in_time([&] { return has_child(program); }));
  ::kill(program, SIGINT);
  int status = 0;
  const bool stopped = in_time([&] { return ::waitpid(program, &status, WNOHANG) == program; });
  const bool alone = in_time([&] {
    while (::waitpid(-program, nullptr, WNOHANG) > 0) {
    }
    return ::kill(-program, 0) != 0;
  });
  ::kill(-program, SIGKILL);
  EXPECT_TRUE(stopped);
  const int as_a_shell_says_it = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  EXPECT_EQ(as_a_shell_says_it, 130);
  EXPECT_TRUE(alone);
  EXPECT_THAT(place.files(), testing::ElementsAre("report"));
  EXPECT_EQ(file_text(place.path() / "report"), "");
}

}  // namespace
}  // namespace spillway::e2e
