#include "cli/raw_disks.hpp"

#include "tests/hw_backend/raw_device/fake_system.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spillway::cli {
namespace {

using description::ScenarioError;
using hw_backend::FakeSystem;
using testing::HasSubstr;

std::vector<hw_backend::ProjectedWear> some_wear(std::size_t places) {
  return {places, {1e9, 3, 6e12}};
}

struct RawDisksOfAServer : testing::Test {
  FakeSystem system;
  std::vector<Place> places{{"files", "/tmp"},
                            {"first", system.add_disk("nvme1n1", {259, 1}, "S1"), true},
                            {"second", system.add_disk("nvme2n1", {259, 2}, "S2"), true}};
};

TEST_F(RawDisksOfAServer, AreOpenedWithTheirSerialNumbersInOrder) {
  Gates gates = raw_gates(system, places, {"S1", "S2"});
  ASSERT_EQ(gates.size(), 2u);
  std::vector<std::string> shown;
  const RawDisks disks =
      open_raw_disks(std::move(gates), some_wear(3), [&](const std::string& text) {
        shown.push_back(text);
        return shown.size() == 1 ? "S1" : "S2";
      });
  ASSERT_EQ(disks.size(), 2u);
  EXPECT_EQ(disks.at(1).name(), places[1].path);
  EXPECT_EQ(disks.at(2).name(), places[2].path);
  EXPECT_THAT(shown[0], HasSubstr("will be overwritten"));
  EXPECT_THAT(shown[0], HasSubstr("0.05 % of the 6 TB"));  // 3 x 1 GB of 6 TB
}

TEST_F(RawDisksOfAServer, StayAsTheyAreWhenAnotherNumberIsTyped) {
  Gates gates = raw_gates(system, places, {"S1", "S2"});
  EXPECT_THROW(open_raw_disks(std::move(gates), some_wear(3),
                              [](const std::string&) { return std::string("S2"); }),
               ScenarioError);
  // no mark was left: both are as empty as before
  EXPECT_FALSE(raw_gates(system, places, {"S1", "S2"}).at(1).drive().ours);
}

TEST_F(RawDisksOfAServer, NeedASerialNumberEach) {
  EXPECT_THROW(raw_gates(system, places, {"S1"}), ScenarioError);
  EXPECT_THROW(raw_gates(system, places, {"S2", "S1"}), ScenarioError);
  EXPECT_THROW(raw_gates(system, {places[0]}, {"S1"}), ScenarioError);
  EXPECT_EQ(raw_gates(system, {places[0]}, {}).size(), 0u);
}

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
