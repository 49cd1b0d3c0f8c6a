#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/device/host_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <functional>
#include <thread>

namespace spillway::hw_backend {
namespace {

/// How a child ends in which `work` runs: its exit code, or 128 + the signal.
int ending(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE})
      std::signal(signal, SIG_DFL);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int signal_looked_for() {
  try {
    stop_if_interrupted();
  } catch (const Interrupted& interrupted) {
    return interrupted.signal();
  }
  return 0;
}

TEST(InterruptGuard, TakesEverySignalThatAsksForAnEnd) {
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP})
    EXPECT_EQ(ending([&] {
                const InterruptGuard guard;
                std::raise(signal);
                return signal_looked_for();
              }),
              signal);
}

TEST(InterruptGuard, TakesSignalsInOneSecondForOneWish) {
  EXPECT_EQ(ending([] {
              const InterruptGuard guard;
              for (const int signal : {SIGHUP, SIGTERM, SIGHUP, SIGINT}) std::raise(signal);
              return signal_looked_for();
            }),
            SIGHUP);
  EXPECT_EQ(ending([] {
              const InterruptGuard guard;
              std::raise(SIGINT);
              std::this_thread::sleep_for(std::chrono::milliseconds(1100));
              std::raise(SIGHUP);  // a terminal that is closed says so several times
              std::raise(SIGINT);
              return 0;
            }),
            128 + SIGINT);
}

TEST(InterruptGuard, LeavesAHangUpIgnoredThatWasIgnoredBefore) {
  EXPECT_EQ(ending([] {
              std::signal(SIGHUP, SIG_IGN);  // nohup
              const InterruptGuard guard;
              std::raise(SIGHUP);
              return signal_looked_for();
            }),
            0);
}

TEST(InterruptGuard, InsideAnotherOneChangesNothing) {
  EXPECT_EQ(ending([] {
              const InterruptGuard outer;
              { const InterruptGuard inner; }
              std::raise(SIGTERM);
              { const InterruptGuard inner; }
              return signal_looked_for();
            }),
            SIGTERM);
}

TEST(InterruptGuard, LosesNoSignalThatNobodyLookedFor) {
  EXPECT_EQ(ending([] {
              {
                const InterruptGuard guard;
                std::raise(SIGTERM);
              }
              return 0;
            }),
            128 + SIGTERM);
}

TEST(InterruptGuard, LetsAReaderGoWhereThatMayBe) {
  const auto write_to_nobody = [](InterruptGuard::Reader reader) {
    return ending([&] {
      const InterruptGuard guard(reader);
      int ends[2] = {};
      if (pipe(ends) != 0) return 1;
      close(ends[0]);
      return write(ends[1], "x", 1) < 0 && errno == EPIPE ? 0 : 1;
    });
  };
  EXPECT_EQ(write_to_nobody(InterruptGuard::Reader::may_go), 0);
  EXPECT_EQ(write_to_nobody(InterruptGuard::Reader::needed), 128 + SIGPIPE);
}

// 512 MiB take some tenths of a second; the signal is there from the start.
TEST(HostMemory, IsNotMadePresentToTheEndWhenItIsInterrupted) {
  EXPECT_EQ(ending([] {
              const InterruptGuard guard;
              MemoryBudget budget;
              HostMemory memory(budget, false);
              std::raise(SIGINT);
              forget_most();
              try {
                memory.take(std::uint64_t{512} << 20);
              } catch (const Interrupted&) {
                return most_resident() < std::uint64_t{256} << 20 ? 7 : 8;
              }
              return 9;
            }),
            7);
}

}  // namespace
}  // namespace spillway::hw_backend
