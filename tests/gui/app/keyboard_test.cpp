// "Will my 32B fit on my box, how fast, when does the drive die" by keyboard alone.
#include "gui/app/window.hpp"
#include "gui/page/parts.hpp"
#include "tests/gui/until.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QDateTime>
#include <QLineEdit>
#include <QMenuBar>
#include <QStatusBar>
#include <QTest>
#include <QThread>
#include <QUndoStack>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace spillway::gui {
namespace {

/// How many programs share each core of this machine, ours among them.
double crowd() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) return 1;
  return std::max(1.0, load / std::max(1, QThread::idealThreadCount()));
}

/// Keys go to the window, as those of a display do: Qt finds who has the focus.
class Keyboard : public testing::Test {
 public:
  void SetUp() override {
    session_.ask();
    window_.show();
    window_.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_));
    ASSERT_TRUE(until([&] { return window_.isActiveWindow(); })) << "the window got no focus";
  }
  void press(int key, Qt::KeyboardModifiers with = Qt::NoModifier) {
    QTest::keyClick(window_.windowHandle(), static_cast<Qt::Key>(key), with);
    QCoreApplication::processEvents();
    ++pressed_;
  }
  void type(const char* text) {
    for (; *text; ++text) {
      QTest::keyClick(window_.windowHandle(), *text);
      QCoreApplication::processEvents();
      ++pressed_;
    }
  }
  /// Goes on by Tab until the field of that name has the focus.
  bool tab_to(const QString& name) {
    for (int i = 0; i < 40; ++i) {
      if (focused() == name) return true;
      press(Qt::Key_Tab);
    }
    return focused() == name;
  }
  static QString focused() {
    const QWidget* widget = QApplication::focusWidget();
    return widget ? widget->accessibleName() : QString("nothing");
  }
  /// What the tile of that name says.
  QString tile(const QString& name) {
    for (const Tile* one : window_.page()->findChildren<Tile*>())
      if (one->accessibleName().startsWith(name)) return one->accessibleDescription();
    return {};
  }
  QString label(const QString& name) {
    for (const QLabel* one : window_.page()->findChildren<QLabel*>())
      if (one->accessibleName().startsWith(name) && one->isVisible()) return one->text();
    return {};
  }
  /// The answer on the page is that of the question, by events and after the search.
  bool answered() {
    return until(
        [&] {
          const Answer& answer = session_.answer();
          return !answer.approximate() &&
                 (answer.state == Answer::State::exact || answer.state == Answer::State::failed);
        },
        60'000);
  }
  void expect_the_whole_answer() {
    const Question& q = session_.question();
    EXPECT_EQ(q.model, "qwen2.5-32b");
    EXPECT_EQ(q.box.gpu, "RTX 4090");
    EXPECT_EQ(q.box.gpus, 2u);
    EXPECT_EQ(q.box.memory_gib, 128u);
    EXPECT_EQ(q.box.drive, "990 PRO 2TB");
    EXPECT_EQ(q.box.drives, 2u);
    EXPECT_EQ(q.tokens, 1e9);
    ASSERT_TRUE(session_.answer().result) << session_.answer().failure;
    EXPECT_TRUE(label("Verdict").startsWith("Fits: ")) << label("Verdict").toStdString();
    EXPECT_TRUE(tile("Throughput").contains("tokens/s")) << tile("Throughput").toStdString();
    const auto& wear = session_.answer().result->wear;
    ASSERT_TRUE(wear && wear->warranty_years && wear->lifetime_years);
    const QString drive = tile("Drive warranty");
    const QDate end = QDate::fromString(drive.left(10), Qt::ISODate);
    ASSERT_TRUE(end.isValid()) << drive.toStdString();  // the warranty's date is first
    const auto days = QDateTime::currentDateTimeUtc().date().daysTo(end);
    EXPECT_NEAR(static_cast<double>(days), *wear->warranty_years * 365, 1.5);
    EXPECT_TRUE(drive.contains("flash")) << drive.toStdString();
  }

  Session session_;
  Window window_{session_};
  int pressed_ = 0;
};

TEST_F(Keyboard, FiveInputsByMnemonicsAnswerTheWholeQuestion) {
  LONG_TEST();
  EXPECT_EQ(focused(), "Model");
  QElapsedTimer clock;
  clock.start();
  type("qwen2.5-32b");
  press(Qt::Key_Return);
  press(Qt::Key_C, Qt::AltModifier);
  type("4090x2");
  press(Qt::Key_Y, Qt::AltModifier);
  type("128G");
  press(Qt::Key_D, Qt::AltModifier);
  type("2Tx2");
  press(Qt::Key_T, Qt::AltModifier);
  type("1B");
  press(Qt::Key_Return);
  ASSERT_TRUE(answered());
  const auto took = static_cast<double>(clock.elapsed()) / 1e3;
  expect_the_whole_answer();
  constexpr double key_s = 0.28;  // of an average typist (Card, Moran and Newell, 1980)
  const double hands_s = key_s * pressed_;
  std::printf("%d keys, %.1f s to the exact answer, %.1f s with a person's hands; load %.1f\n",
              pressed_, took, took + hands_s, crowd());
  EXPECT_LE(pressed_, 40);
  EXPECT_LT(took / crowd() + hands_s, 30);
}

TEST_F(Keyboard, FiveInputsByTabAnswerTheWholeQuestion) {
  LONG_TEST();
  type("qwen2.5-32b");
  ASSERT_TRUE(tab_to("Card")) << focused().toStdString();
  type("4090x2");
  ASSERT_TRUE(tab_to("Host memory")) << focused().toStdString();
  type("128G");
  ASSERT_TRUE(tab_to("Drive")) << focused().toStdString();
  type("2Tx2");
  ASSERT_TRUE(tab_to("Tokens to train on")) << focused().toStdString();
  type("1B");
  press(Qt::Key_Tab);
  ASSERT_TRUE(answered());
  expect_the_whole_answer();
  std::printf("%d keys by Tab alone\n", pressed_);
  EXPECT_LE(pressed_, 45);
}

TEST_F(Keyboard, ANameIsTakenFromTheListByArrowAndEnter) {
  type("qwen2.5-3");  // also qwen2.5-3b
  press(Qt::Key_Down);
  press(Qt::Key_Return);
  EXPECT_TRUE(session_.question().model.starts_with("qwen2.5-3")) << session_.question().model;
}

TEST_F(Keyboard, SaysWhyItTookNoNameAndShowsTheOneBefore) {
  const Question before = session_.question();
  type("32b");
  press(Qt::Key_Return);
  press(Qt::Key_Tab);
  EXPECT_EQ(session_.question(), before);
  const QString said = window_.statusBar()->currentMessage();
  EXPECT_TRUE(said.contains("qwen2.5-32b")) << said.toStdString();
  EXPECT_EQ(window_.page()->findChild<QComboBox*>()->currentText(), "qwen3-8b");
}

TEST_F(Keyboard, SaysWhyItTookNoNumber) {
  const Question before = session_.question();
  press(Qt::Key_Y, Qt::AltModifier);
  EXPECT_EQ(focused(), "Host memory");
  type("64M");
  press(Qt::Key_Return);
  EXPECT_EQ(session_.question(), before);
  EXPECT_TRUE(window_.statusBar()->currentMessage().contains("64M"))
      << window_.statusBar()->currentMessage().toStdString();
  press(Qt::Key_T, Qt::AltModifier);
  type("many");
  press(Qt::Key_Return);
  EXPECT_EQ(session_.question(), before);
  EXPECT_TRUE(window_.statusBar()->currentMessage().contains("many"));
}

TEST_F(Keyboard, ArrowsGoThroughTheSizesThatAreSoldAndUndoGoesBack) {
  press(Qt::Key_Y, Qt::AltModifier);
  press(Qt::Key_Up);
  EXPECT_EQ(session_.question().box.memory_gib, 96u);
  press(Qt::Key_Up);
  EXPECT_EQ(session_.question().box.memory_gib, 128u);
  press(Qt::Key_Down);
  EXPECT_EQ(session_.question().box.memory_gib, 96u);
  session_.undo_stack().undo();
  EXPECT_EQ(session_.question().box.memory_gib, 64u);
}

/// Ctrl+Z and Ctrl+Shift+Z go to the field that has the focus.
TEST_F(Keyboard, UndoInAFieldTakesBackTheChangeOfTheQuestion) {
  const auto undo = [&] { press(Qt::Key_Z, Qt::ControlModifier); };
  const auto redo = [&] { press(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier); };
  const Question before = session_.question();
  press(Qt::Key_T, Qt::AltModifier);
  auto* tokens = qobject_cast<QLineEdit*>(QApplication::focusWidget());
  ASSERT_TRUE(tokens);
  type("2B");
  press(Qt::Key_Return);
  EXPECT_EQ(session_.question().tokens, 2e9);
  undo();
  EXPECT_EQ(session_.question(), before);
  EXPECT_EQ(tokens->text(), "1B");
  undo();  // there is nothing more
  press(Qt::Key_Tab);
  EXPECT_EQ(session_.question(), before);
  EXPECT_TRUE(session_.undo_stack().canRedo());
  press(Qt::Key_T, Qt::AltModifier);
  redo();
  EXPECT_EQ(session_.question().tokens, 2e9);
  EXPECT_EQ(tokens->text(), "2B");
  type("55");
  undo();  // what was typed alone
  EXPECT_EQ(tokens->text(), "2B");
  EXPECT_EQ(session_.question().tokens, 2e9);
  undo();
  EXPECT_EQ(session_.question(), before);
}

TEST_F(Keyboard, UndoInAPickerAndInANumberIsThatOfTheQuestion) {
  const auto undo = [&] { press(Qt::Key_Z, Qt::ControlModifier); };
  const Question before = session_.question();
  auto* model = window_.page()->findChild<QComboBox*>();
  type("qwen2.5-32b");
  press(Qt::Key_Return);
  EXPECT_EQ(session_.question().model, "qwen2.5-32b");
  type("llama");  // opens the list of names
  undo();
  EXPECT_EQ(model->currentText(), "qwen2.5-32b");
  EXPECT_FALSE(QApplication::activePopupWidget());
  EXPECT_EQ(session_.question().model, "qwen2.5-32b");
  undo();
  EXPECT_EQ(session_.question(), before);
  EXPECT_EQ(model->currentText(), "qwen3-8b");
  press(Qt::Key_Y, Qt::AltModifier);
  type("128G");
  press(Qt::Key_Return);
  EXPECT_EQ(session_.question().box.memory_gib, 128u);
  undo();
  EXPECT_EQ(session_.question(), before);
  type("256");
  undo();
  press(Qt::Key_Tab);
  EXPECT_EQ(session_.question(), before);
}

TEST_F(Keyboard, LinksAndFurtherDrivesAreTypedAndTakenBack) {
  LONG_TEST();
  const Question before = session_.question();
  press(Qt::Key_L, Qt::AltModifier);
  EXPECT_EQ(focused(), "Link of each card");
  type("4x8");
  press(Qt::Key_U, Qt::AltModifier);
  type("870 evo 2tb x2");
  press(Qt::Key_Tab);
  EXPECT_EQ(session_.question().box.card_link, (Link{4, 8, 0}));
  EXPECT_EQ(session_.question().box.further_drive, "870 EVO 2TB");
  EXPECT_EQ(session_.question().box.further_drives, 2u);
  EXPECT_TRUE(window_.page()->command().contains("870 EVO 2TB"));
  const Question after = session_.question();
  session_.undo_stack().undo();
  EXPECT_EQ(session_.question().box.further_drive, "");
  session_.undo_stack().undo();
  EXPECT_EQ(session_.question(), before);
  session_.undo_stack().redo();
  session_.undo_stack().redo();
  EXPECT_EQ(session_.question(), after);
  ASSERT_TRUE(answered());
  EXPECT_TRUE(session_.answer().fits())
      << session_.answer().failure << words(session_.answer().why_not);
}

TEST_F(Keyboard, ALinkOfAShippedMachineMakesACopyOfIt) {
  Question shipped;
  shipped.machine = "workstation_2gpu";
  session_.change(shipped, "a shipped machine");
  press(Qt::Key_L, Qt::AltModifier);
  EXPECT_EQ(focused(), "Link of each card");
  type("3x4");
  press(Qt::Key_Tab);
  const nlohmann::json machine = session_.question().machine_file;
  ASSERT_TRUE(machine.is_object());
  EXPECT_EQ(machine["pcie"]["h2d"], "3.15 GB/s");  // 0.8 of 4 lanes of 0.985 GB/s
  EXPECT_EQ(machine["pcie"]["d2h"], "3.15 GB/s");
  EXPECT_EQ(machine["pcie"]["pageable_d2h"], "3.15 GB/s");
  EXPECT_EQ(machine["gpu"]["count"], 2);
  press(Qt::Key_L, Qt::AltModifier);
  press(Qt::Key_Tab);  // nothing was typed
  EXPECT_EQ(session_.question().machine_file, machine);
  EXPECT_TRUE(window_.page()->command().contains("3.15 GB/s"));
  session_.undo_stack().undo();
  EXPECT_EQ(session_.question(), shipped);
}

TEST_F(Keyboard, EachMnemonicOfThePageIsItsOwn) {
  QStringList letters;
  const auto note = [&](const QString& text) {
    const QKeySequence keys = QKeySequence::mnemonic(text);
    if (keys.isEmpty()) return;
    EXPECT_FALSE(letters.contains(keys.toString())) << text.toStdString();
    letters << keys.toString();
  };
  for (const QAction* menu : window_.menuBar()->actions()) note(menu->text());
  for (const QLabel* one : window_.page()->findChildren<QLabel*>())
    if (one->isVisible() && one->buddy()) note(one->text());
  for (const QAbstractButton* one : window_.page()->findChildren<QAbstractButton*>())
    if (one->isVisible()) note(one->text());
  EXPECT_GE(letters.size(), 14);
}

}  // namespace
}  // namespace spillway::gui
