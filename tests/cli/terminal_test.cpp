#include "cli/common.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spillway::cli {
namespace {

using description::ScenarioError;
using testing::HasSubstr;

/// Exit code of a child that asks: 0 when it got "S1", 2 when it refused.
[[noreturn]] void ask_and_exit() {
  try {
    _exit(ask_at_terminal("serial number: ") == "S1" ? 0 : 1);
  } catch (const ScenarioError&) {
    _exit(2);
  }
}

TEST(AskAtTerminal, ReadsALineThatWasTyped) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) ask_and_exit();
  ASSERT_EQ(::write(terminal, "S1\n", 3), 3);
  std::string shown;  // what was typed is echoed, too
  char letter = 0;
  while (::read(terminal, &letter, 1) == 1) shown += letter;
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(shown, HasSubstr("serial number: "));
}

TEST(AskAtTerminal, TakesNoAnswerFromAPipe) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "S1\n", 3), 3);
  const pid_t child = fork();
  if (child == 0) {
    ::setsid();  // away from the terminal that may control this test
    ::dup2(ends[0], STDIN_FILENO);
    ask_and_exit();
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(ends[0]), ::close(ends[1]);
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

}  // namespace
}  // namespace spillway::cli
