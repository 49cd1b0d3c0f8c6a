#include "answers/server/raw_disks.hpp"

#include "answers/server/validation_plan.hpp"
#include "tests/hw_backend/raw_device/fake_system.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdlib>

namespace spillway::answers {
namespace {

using description::ScenarioError;
using hw_backend::FakeSystem;
using testing::HasSubstr;

std::vector<hw_backend::ProjectedWear> some_wear(std::size_t places) {
  return {places, {1e9, 3, 6e12}};
}

struct RawDisksOfAServer : testing::Test {
  FakeSystem system;
  std::vector<StoragePath> places{{"files", "/tmp"},
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

// The scenario, which others may have written, is read by who called sudo.
TEST_F(RawDisksOfAServer, AreHeldBeforeRootDoesAnythingElse) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIP: not root, who alone gives rights up";
  const pid_t child = fork();
  if (child == 0) {
    setenv("SUDO_UID", "65534", 1), setenv("SUDO_GID", "65534", 1);
    ValidateQuestion question;
    question.scenario = "/nowhere/scenario.json";
    question.on = {places[1].path.string()};
    question.allow_raw = {"S1"};
    Gates gates;
    try {
      plan_validation({}, question, {}, system, gates);
    } catch (const ScenarioError&) {
      _exit(gates.size() == 1 && geteuid() == 65534 ? 0 : 1);
    }
    _exit(2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace spillway::answers
