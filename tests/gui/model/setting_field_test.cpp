#include "gui/model/setting_field.hpp"
#include "gui/app/window.hpp"
#include "gui/page/setting_rows.hpp"
#include "tests/gui/full_window.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <QComboBox>
#include <QLineEdit>
#include <QStatusBar>
#include <QTest>
#include <QUndoStack>

#include <algorithm>

namespace spillway::gui {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;

const std::vector<Setting> told = {{"machine.gpu.count", "1", "scenario"},
                                   {"parallel.tensor", "1", "default"},
                                   {"strategy.gpu_allocator", "caching", "default of lohan"},
                                   {"strategy.system", "lohan", "scenario"},
                                   {"strategy.weights.buffer_count", "auto", "default of lohan"},
                                   {"strategy.weights.home", "ssd", "default of lohan"},
                                   {"training.loss", "fused", "default"},
                                   {"training.micro_batch", "1", "scenario"}};

Question of_lohan() {
  Question question;
  question.system = "lohan";
  return question;
}

std::vector<std::string> paths(const std::vector<SettingField>& fields) {
  std::vector<std::string> all;
  for (const SettingField& field : fields) all.push_back(field.path);
  return all;
}

TEST(SettingFields, AreTheSettingsWithoutAFieldOfTheirOwn) {
  EXPECT_THAT(paths(setting_fields(of_lohan(), told, SettingKind::training)),
              ElementsAre("parallel.tensor", "training.loss"));
  const auto parts = setting_fields(of_lohan(), told, SettingKind::parts);
  ASSERT_THAT(paths(parts), ElementsAre("strategy.gpu_allocator", "strategy.weights.buffer_count",
                                        "strategy.weights.home"));
  EXPECT_EQ(parts[0].group, "");
  EXPECT_EQ(parts[2].group, "weights");
  EXPECT_EQ(parts[2].name, "home");
  EXPECT_THAT(parts[2].choices, ElementsAre("gpu", "host", "ssd"));
  EXPECT_TRUE(parts[2].only_choices);
  EXPECT_FALSE(parts[1].only_choices);
  EXPECT_FALSE(parts[2].said);
}

TEST(SettingFields, OfASearchAreWhatItDoesNotChoose) {
  EXPECT_TRUE(setting_fields(Question(), told, SettingKind::parts).empty());
  EXPECT_THAT(paths(setting_fields(Question(), told, SettingKind::training)),
              ElementsAre("training.loss"));
}

TEST(SettingFields, ShowWhatTheQuestionSaysUntilItIsTakenBack) {
  const Question said =
      with_overrides(of_lohan(), {"strategy.weights.home=host", "parallel.tensor=2"});
  EXPECT_EQ(scenario_of(said)["strategy"]["weights"]["home"], "host");
  const SettingField home = setting_fields(said, told, SettingKind::parts).back();
  EXPECT_TRUE(home.said);
  EXPECT_EQ(home.value, "host");
  EXPECT_EQ(setting_fields(said, told, SettingKind::training).front().value, "2");
  Question back = without_setting(said, "strategy.weights.home");
  EXPECT_FALSE(scenario_of(back)["strategy"].contains("weights"));
  back = without_setting(back, "parallel.tensor");
  EXPECT_EQ(scenario_of(back), scenario_of(of_lohan()));
}

TEST(SettingFields, OfTheTrainingAreAskedOfASearchToo) {
  Question question;
  question.further = {{"name", "mine"},
                      {"training", {{"loss", "plain"}, {"ema", true}}},
                      {"strategy", {{"pinned", "exact"}}}};
  EXPECT_THAT(said_beside_fields(question),
              ElementsAre("training.ema=true", "training.loss=plain"));
  const auto words = fit_arguments(question, "");
  const auto at = std::find(words.begin(), words.end(), "--set");
  ASSERT_NE(at, words.end());
  EXPECT_EQ(*std::next(at), "training.ema=true");
  EXPECT_THAT(words, Contains("training.loss=plain"));
}

class SettingRowsOfWhatIf : public FullWindow {
 public:
  void SetUp() override {
    FullWindow::SetUp();
    unfold();
    ASSERT_FALSE(session_.answer().settings.empty());
  }
  template <class Editor>
  Editor* editor(const QString& path) {
    for (Editor* one : window_.page()->findChildren<Editor*>())
      if (one->accessibleName() == path && one->isVisible()) return one;
    return nullptr;
  }
  bool answered() {
    return until([&] { return window_.idle() && !session_.answer().approximate(); }, 60'000);
  }
};

TEST_F(SettingRowsOfWhatIf, PickAPartOfTheSystemWhichUndoTakesBack) {
  LONG_TEST();
  const Question before = session_.question();
  ASSERT_FALSE(before.searches());
  auto* pinned = editor<QComboBox>("strategy.pinned");
  ASSERT_TRUE(pinned);
  const QString value = pinned->currentText();
  const QString other = value == "exact" ? "power_of_two" : "exact";
  pinned->setFocus();
  QTest::keyClicks(pinned, other.left(1));
  ASSERT_EQ(pinned->currentText(), other);
  QTest::keyClick(pinned, Qt::Key_Return);
  Q_EMIT pinned->activated(pinned->currentIndex());
  EXPECT_EQ(scenario_of(session_.question())["strategy"]["pinned"], other.toStdString());
  ASSERT_TRUE(answered());
  EXPECT_TRUE(session_.answer().result) << session_.answer().failure;
  pinned = editor<QComboBox>("strategy.pinned");
  ASSERT_TRUE(pinned);
  EXPECT_EQ(pinned->currentText(), other);
  EXPECT_TRUE(pinned->accessibleDescription().contains("this question"));
  session_.undo_stack().undo();
  EXPECT_EQ(session_.question(), before);
  ASSERT_TRUE(answered());
  EXPECT_EQ(editor<QComboBox>("strategy.pinned")->currentText(), value);
}

TEST_F(SettingRowsOfWhatIf, SayWhatIsWrongWithANumberAndTakeItBackWhenEmptied) {
  LONG_TEST();
  const Question before = session_.question();
  auto* dropout = editor<QLineEdit>("training.dropout");
  ASSERT_TRUE(dropout);
  dropout->setFocus();
  dropout->selectAll();
  QTest::keyClicks(dropout, "much");
  QTest::keyClick(dropout, Qt::Key_Return);
  ASSERT_TRUE(answered());
  EXPECT_NE(session_.answer().failure.find("training.dropout"), std::string::npos)
      << session_.answer().failure;
  dropout = editor<QLineEdit>("training.dropout");
  ASSERT_TRUE(dropout);
  EXPECT_EQ(dropout->text(), "much");
  dropout->clear();
  QTest::keyClick(dropout, Qt::Key_Return);
  EXPECT_EQ(scenario_of(session_.question()), scenario_of(before));
  ASSERT_TRUE(answered());
  EXPECT_TRUE(session_.answer().result) << session_.answer().failure;
}

TEST_F(SettingRowsOfWhatIf, KeepWhatIsBeingTypedWhileAnAnswerComes) {
  LONG_TEST();
  auto* dropout = editor<QLineEdit>("training.dropout");
  ASSERT_TRUE(dropout);
  window_.activateWindow();
  dropout->setFocus();
  dropout->setText("0.2");
  if (!dropout->hasFocus()) GTEST_SKIP() << "no window has the focus here";
  session_.ask();
  ASSERT_TRUE(answered());
  EXPECT_EQ(dropout->text(), "0.2");
}

}  // namespace
}  // namespace spillway::gui
