#include "gui/model/question.hpp"

#include "gui/model/named.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/document/document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>

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

// fit -o writes the configuration into the scenario.
TEST(Question, NamesAModelWhoseConfigurationStandsInTheScenario) {
  const auto name = [](const json& config) { return question_of({{"model", config}}).model; };
  EXPECT_EQ(name({{"model_type", "qwen3"}, {"_hub", {"Qwen/Qwen3-8B"}}}), "Qwen/Qwen3-8B");
  EXPECT_EQ(name({{"_name_or_path", "mine/tuned"}}), "mine/tuned");
  EXPECT_EQ(name({{"name", "own"}, {"_hub", {"Qwen/Qwen3-8B"}}}), "own");
  EXPECT_EQ(name({{"model_type", "qwen3"}}), "config.json");
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

Question with_links() {
  Question question;
  question.box = {"RTX 4090", 2, "workstation", 256, "990 PRO 4TB", 3};
  question.box.card_link = {4, 8, 0};
  question.box.drive_link = {3, 2, 0};
  question.box.further_drive = "870 EVO 2TB";
  question.box.further_drives = 2;
  return question;
}

TEST(Question, PutsLinksAndFurtherDrivesIntoTheMachine) {
  const json machine = scenario_of(with_links())["machine"];
  EXPECT_EQ(machine["pcie"]["h2d"], "12.6 GB/s");  // 0.8 of 8 lanes of 1.97 GB/s
  EXPECT_EQ(machine["pcie"]["d2h"], "12.6 GB/s");
  EXPECT_EQ(machine["gpu"]["lanes"], 8);
  ASSERT_EQ(machine["storage"].size(), 2u);
  EXPECT_EQ(machine["storage"][0]["read"], "1.87 GB/s");  // 0.95 of 2 lanes of 0.985 GB/s
  EXPECT_EQ(machine["storage"][0]["lanes"], 2);
  EXPECT_EQ(machine["storage"][1], (json{{"part", "870 EVO 2TB"}, {"count", 2}}));
  EXPECT_THAT(machine["sources"]["pcie.h2d"].get<std::string>(), HasSubstr("8 lanes"));
  const auto checked =
      scenarios::assemble(scenarios::located_at(scenario_of(with_links()), {}), {});
  EXPECT_TRUE(checked.complaints.empty());
}

TEST(Question, ComesBackWithLinksAndFurtherDrives) {
  Question question = with_links();
  EXPECT_EQ(question_of(scenario_of(question)).box, question.box);
  question.box.card_link = {0, 0, 11.5e9};  // measured
  question.box.drive_link = {};
  question.box.further_drive = "9100 PRO 2TB";
  question.box.further_link = {4, 4, 0};
  const Question back = question_of(scenario_of(question));
  EXPECT_EQ(back.box, question.box);
  EXPECT_EQ(scenario_of(back), scenario_of(question));
}

TEST(Question, ALinkIsNoFasterThanWhatIsPluggedIn) {
  Question question;
  question.box.card_link = {5, 16, 0};
  question.box.drive_link = {5, 4, 0};
  const json machine = scenario_of(question)["machine"];
  EXPECT_EQ(machine["pcie"]["h2d"], "25.2 GB/s");  // the card's, of 4.0
  EXPECT_FALSE(machine["storage"][0].contains("read"));
  question.box.card_link = {3, 1, 0};  // slower than pageable copies usually are
  EXPECT_EQ(scenario_of(question)["machine"]["pcie"]["pageable_d2h"], "0.788 GB/s");
}

TEST(Question, KeepsAMachineWithSourcesOfItsOwnWhole) {
  json machine = scenario_of(with_links())["machine"];
  machine["sources"]["pcie.h2d"] = "measured: on mine";
  const Question question = question_of({{"model", "gpt2"}, {"machine", machine}});
  EXPECT_EQ(scenario_of(question)["machine"], machine);
}

TEST(Question, SaysTheFurtherDrivesInItsCommandWhichAShellRuns) {
  Question question = with_links();
  question.model = "qwen2.5-0.5b";
  const std::string command = command_of(question);
  EXPECT_THAT(command, HasSubstr("spillway fit qwen2.5-0.5b --machine box.json --context 4096"));
  EXPECT_THAT(command, HasSubstr("12.6 GB/s"));
  const QTemporaryDir folder;
  QProcess shell;
  shell.setWorkingDirectory(folder.path());
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("PATH", QFileInfo(SPILLWAY_PROGRAM).path() + ":" + environment.value("PATH"));
  shell.setProcessEnvironment(environment);
  shell.start("sh", {"-c", QString::fromStdString(command)});
  ASSERT_TRUE(shell.waitForFinished(90'000));
  const std::string said = shell.readAllStandardOutput().toStdString();
  EXPECT_EQ(shell.exitCode(), 0) << shell.readAllStandardError().toStdString();
  EXPECT_THAT(said, HasSubstr("fits."));
}

TEST(Question, AppliesARemedyToTheSecondStorage) {
  const Question more = with_overrides(with_links(), {"machine.storage.nvme2.count=4"});
  EXPECT_EQ(more.box.further_drives, 4u);
  EXPECT_EQ(more.box.drives, 3u);
}

TEST(Question, TakesABoardWithPlacesForBothKindsOfDrives) {
  PartsBox box;
  box.drives = 4;
  ASSERT_NE(board_of(box), nullptr);
  EXPECT_EQ(board_of(box)->name, "desktop");
  box.further_drive = "9100 PRO 2TB";
  box.further_drives = 1;  // a desktop has four M.2 places
  const auto* board = board_of(box);
  EXPECT_TRUE(!board || board->name != "desktop");
}

TEST(Link, IsReadAsPeopleWriteIt) {
  for (const char* text : {"PCIe 4.0 x8", "4x8", "gen4 x8", "pcie4x8", "4.0 X8"})
    EXPECT_EQ(link_in(text), (Link{4, 8, 0})) << text;
  EXPECT_EQ(link_in("12 GB/s"), (Link{0, 0, 12e9}));
  EXPECT_EQ(link_in(""), Link());
  for (const char* text : {"x8", "4x7", "9x8", "12", "fast", "4.5x8"})
    EXPECT_EQ(link_in(text), std::nullopt) << text;
  for (const Link& link : known_links(16)) EXPECT_EQ(link_in(words_of(link)), link);
}

TEST(Named, ModelsAreTakenAsPeopleCallThem) {
  EXPECT_EQ(model_named("Qwen2.5-32B").name, "qwen2.5-32b");
  EXPECT_EQ(model_named("Qwen/Qwen2.5-32B-Instruct").name, "qwen2.5-32b");
  EXPECT_EQ(model_named("qwen2.5-32").name, "qwen2.5-32b");
  EXPECT_EQ(model_named("32b").name, "");
  EXPECT_THAT(model_named("32b").problem, HasSubstr("qwen2.5-32b"));
  EXPECT_THAT(model_named("qwen2.5-33b").problem, HasSubstr("did you mean"));
}

TEST(Named, PartsAreTakenWithTheirNumber) {
  EXPECT_EQ(card_named("4090x2").name, "RTX 4090");
  EXPECT_EQ(card_named("4090x2").count, 2u);
  EXPECT_EQ(card_named("rtx 4090").count, std::nullopt);
  EXPECT_FALSE(card_named("40900").problem.empty());
  EXPECT_EQ(drive_in("2Tx2").name, "990 PRO 2TB");
  EXPECT_EQ(drive_in("2Tx2").count, 2u);
  EXPECT_EQ(drive_in("870 evo 2tb").name, "870 EVO 2TB");
  EXPECT_EQ(drive_in("none").count, 0u);
}

TEST(Named, MemoryIsTakenAsItIsSold) {
  for (const char* text : {"64", "64G", "64 GiB", "64gb", "64 g"})
    EXPECT_EQ(memory_gib_in(text), 64u) << text;
  EXPECT_EQ(memory_gib_in("1.5T"), 1536u);
  for (const char* text : {"", "G", "64M", "64.5", "x", "6 4", "1.5.5"})
    EXPECT_EQ(memory_gib_in(text), std::nullopt) << text;
}

}  // namespace
}  // namespace spillway::gui
