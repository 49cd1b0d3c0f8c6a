#include "explore/search/filling.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

namespace spillway::explore::filling_test {
namespace {

RunRow run_of(pid_t process, double ago_s) {
  RunRow run;
  run.host = host_name();
  run.process = process;
  run.started_s = static_cast<double>(std::time(nullptr)) - ago_s;
  return run;
}

/// A process that waits until it is ended.
pid_t waiting_process() {
  const pid_t process = ::fork();
  if (process == 0) {
    ::pause();
    ::_exit(0);
  }
  return process;
}

TEST(Filling, KnowsAProcessOfThisHostThatWasKilled) {
  const pid_t process = waiting_process();
  const RunRow run = run_of(process, 0);
  EXPECT_FALSE(is_gone(run));
  ::kill(process, SIGKILL);
  siginfo_t how;  // it has its number until somebody asks how
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(process), &how, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(is_gone(run));
  ::waitpid(process, nullptr, 0);
  EXPECT_TRUE(is_gone(run));
  RunRow elsewhere = run;
  elsewhere.host += "2";
  EXPECT_FALSE(is_gone(elsewhere));
}

/// Numbers of processes come again.
TEST(Filling, KnowsAnotherProcessOfTheSameNumber) {
  const pid_t process = waiting_process();
  EXPECT_FALSE(is_gone(run_of(process, 30)));  // clocks are set
  EXPECT_TRUE(is_gone(run_of(process, 3600)));
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
}

}  // namespace
}  // namespace spillway::explore::filling_test
