#include "gui/model/question.hpp"

#include "scenarios/description/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::gui {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Question, ComesBackFromItsScenario) {
  Question question;
  question.model = "qwen3-32b";
  question.box = {"RTX 4090", 2, "workstation", 256, "990 PRO 4TB", 3};
  question.micro_batch = 4;
  question.data = 2;
  question.system = "lohan";
  question.tokens = 5e9;
  const Question back = question_of(scenario_of(question));
  EXPECT_EQ(scenario_of(back), scenario_of(question));
  EXPECT_EQ(back.box, question.box);
  EXPECT_EQ(back.system, "lohan");
  EXPECT_EQ(back.tokens, 5e9);
}

TEST(Question, KeepsWhatHasNoField) {
  const json scenario = {{"model", "gpt2"},
                         {"machine", "gaming_4090"},
                         {"training", {{"micro_batch", 2}, {"dropout", 0.1}}},
                         {"strategy", {{"system", "lohan"}, {"pinned", "exact"}}}};
  const json again = scenario_of(question_of(scenario));
  EXPECT_EQ(again["training"]["dropout"], 0.1);
  EXPECT_EQ(again["training"]["micro_batch"], 2);
  EXPECT_EQ(again["strategy"]["pinned"], "exact");
  EXPECT_EQ(again["machine"], "gaming_4090");
}

TEST(Question, KeepsAMachineOfItsOwnWhole) {
  const json machine = {{"name", "mine"}, {"extends", "gaming_4090"}};
  const Question question = question_of({{"model", "gpt2"}, {"machine", machine}});
  EXPECT_EQ(scenario_of(question)["machine"], machine);
}

TEST(Question, AppliesARemedyToItsFields) {
  const Question more =
      with_overrides(Question(), {"machine.host.memory=192 GiB", "machine.storage.nvme.count=3"});
  EXPECT_EQ(more.box.memory_gib, 192u);
  EXPECT_EQ(more.box.drives, 3u);
  Question of_system;
  of_system.system = "zero_infinity";
  EXPECT_EQ(with_overrides(of_system, {"training.micro_batch=2"}).micro_batch, 2u);
}

TEST(Question, AppliesARemedyToAShippedMachine) {
  Question question;
  question.machine = "gaming_4090";
  question.system = "zero_infinity";
  const Question more = with_overrides(question, {"machine.host.memory=\"192 GiB\""});
  EXPECT_EQ(scenario_of(more)["machine"]["host"]["memory"], "192 GiB");
}

TEST(Question, TakesTheCheapestBoardForCardsAndDrives) {
  PartsBox box;
  ASSERT_NE(board_of(box), nullptr);
  EXPECT_EQ(board_of(box)->name, "desktop");
  box.gpus = 2;  // a desktop has one place
  ASSERT_NE(board_of(box), nullptr);
  EXPECT_NE(board_of(box)->name, "desktop");
  box.gpus = 64;
  EXPECT_EQ(board_of(box), nullptr);
}

TEST(Question, IsACommandThatPeopleCanType) {
  Question question;
  question.box = {"RTX 4090", 2, "workstation", 256, "990 PRO 4TB", 1};
  EXPECT_EQ(command_of(question),
            "spillway fit qwen3-8b --gpu 'RTX 4090x2' --ram 256G --ssd '990 PRO 4TBx1' --board "
            "workstation --context 4096 --tokens 1000000000");
  question.system = "lohan";
  EXPECT_THAT(command_of(question), HasSubstr("spillway simulate /dev/stdin <<'END'"));
}

}  // namespace
}  // namespace spillway::gui
