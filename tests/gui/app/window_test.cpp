// The window without a display: pages, undo, keys, random events.
#include "gui/app/window.hpp"
#include "gui/app/palette_dialog.hpp"
#include "gui/app/pictures.hpp"
#include "gui/page/timeline.hpp"
#include "tests/gui/until.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QDragEnterEvent>
#include <QLineEdit>
#include <QMimeData>
#include <QSpinBox>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QUndoStack>
#include <QWheelEvent>

#include <random>

namespace spillway::gui {
namespace {

const QString sources = SPILLWAY_SOURCE_DIR;

std::shared_ptr<const Trace> many_slices(int count) {
  TraceBuilder builder;
  for (int i = 0; i < count; ++i)
    builder.slice(1, i % 8, "layers." + std::to_string(i % 40) + ".op", "forward", 100 * i,
                  100 * i + 90, 10);
  for (int i = 0; i < 100; ++i) builder.sample("host memory", "weights", 100 * i, 5 * i);
  return std::make_shared<const Trace>(builder.finish());
}

TEST(Window, AnswersItsFirstQuestion) {
  Session session;
  Window window(session);
  window.show();
  session.ask();
  ASSERT_TRUE(until([&] { return window.idle(); }));
  EXPECT_TRUE(session.answer().fits())
      << session.answer().failure << words(session.answer().why_not);
  EXPECT_TRUE(window.page()->text().contains("tokens/s"));
}

TEST(Window, ShowsEveryPageOfTheList) {
  Session session;
  Window window(session);
  window.show();
  for (const PageEntry& entry : pages()) {
    EXPECT_TRUE(window.show_page(entry.name));
    EXPECT_EQ(window.page(), window.page_named(entry.name));
    EXPECT_FALSE(window.page()->accessibleName().isEmpty());
    EXPECT_FALSE(window.page()->grab().isNull());
  }
  EXPECT_FALSE(window.show_page("nothing"));
}

TEST(Window, TakesBackAndDoesAgainEveryChange) {
  Session session;
  Window window(session);
  const Question before = session.question();
  Question next = before;
  next.box.memory_gib = 128;
  session.change(next, "memory", "memory");
  next.box.memory_gib = 192;
  session.change(next, "memory", "memory");  // of the same drag
  session.end_drag();
  EXPECT_EQ(session.undo_stack().count(), 1);
  session.undo_stack().undo();
  EXPECT_EQ(session.question(), before);
  session.undo_stack().redo();
  EXPECT_EQ(session.question(), next);
}

TEST(Window, OpensAScenarioAndRefusesWhatItCannotRead) {
  Session session;
  Window window(session);
  QStringList refusals;
  QObject::connect(&session, &Session::refused, &window,
                   [&](const QString& sentence) { refusals << sentence; });
  session.open({sources + "/scenarios/examples/tiny.json", sources + "/README.md"});
  ASSERT_TRUE(until([&] { return !refusals.isEmpty() && !session.question().searches(); }));
  EXPECT_TRUE(refusals[0].contains("README.md"));
  ASSERT_TRUE(until([&] { return window.idle(); }));
  EXPECT_TRUE(session.answer().result) << session.answer().failure;
}

TEST(Window, ScenariosThatAreOpenedTogetherStandSideBySide) {
  LONG_TEST();
  Session session;
  Window window(session);
  window.show();
  session.open({"tiny", sources + "/scenarios/examples/qwen7b_workstation.json"});
  ASSERT_TRUE(until([&] { return session.idle(); }));
  ASSERT_EQ(session.contenders().size(), 2u);
  EXPECT_EQ(session.contenders()[0].label, "tiny");
  EXPECT_EQ(session.contenders()[1].result.system, "zero_infinity");
  EXPECT_EQ(window.page(), window.page_named("compare"));
  EXPECT_TRUE(window.page()->text().contains("tiny"));
  session.open({"tiny"});
  ASSERT_TRUE(until([&] { return session.idle(); }));
  EXPECT_EQ(session.contenders().size(), 2u);  // alone it is the question
}

TEST(Window, KeepsAModelOfAFileWhenItsFieldIsLeft) {
  Session session;
  Window window(session);
  window.show();
  session.open({sources + "/scenarios/examples/tiny.json"});
  ASSERT_TRUE(until([&] { return !session.question().model_config.is_null(); }));
  const Question before = session.question();
  window.page_named("what-if")->first_field()->setFocus();
  window.show_page("memory");  // the field is left, as by Tab
  EXPECT_EQ(session.question(), before);
  auto* model = window.page_named("what-if")->findChild<QComboBox*>();
  ASSERT_TRUE(model);
  Q_EMIT model->lineEdit()->editingFinished();
  EXPECT_EQ(session.question(), before);
}

TEST(Window, OpensWhatIsDroppedOnIt) {
  Session session;
  Window window(session);
  window.show();
  QMimeData files, text;
  files.setUrls({QUrl::fromLocalFile(sources + "/scenarios/examples/tiny.json")});
  text.setText("no file");
  QDragEnterEvent refused({50, 50}, Qt::CopyAction, &text, Qt::LeftButton, {});
  QApplication::sendEvent(&window, &refused);
  EXPECT_FALSE(refused.isAccepted());
  QDragEnterEvent enter({50, 50}, Qt::CopyAction, &files, Qt::LeftButton, {});
  QApplication::sendEvent(&window, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop({50, 50}, Qt::CopyAction, &files, Qt::LeftButton, {});
  QApplication::sendEvent(&window, &drop);
  EXPECT_TRUE(until([&] { return session.question().model_config.is_object(); }));
}

TEST(Window, WritesPicturesOfEachKind) {
  Session session;
  Window window(session);
  window.show();
  const QTemporaryDir folder;
  for (const char* name : {"a.png", "a.svg", "a.pdf"}) {
    EXPECT_EQ(write_picture(window, folder.filePath(name)), "") << name;
    EXPECT_GT(QFileInfo(folder.filePath(name)).size(), 1000) << name;
  }
  EXPECT_NE(write_picture(window, "/nowhere/a.png"), "");
}

TEST(Window, GivesEachActionANameAndShortcutsOfItsOwn) {
  Session session;
  Window window(session);
  QStringList shortcuts;
  for (const QAction* action : window.all_actions()) {
    EXPECT_FALSE(action->text().isEmpty());
    if (action->shortcut().isEmpty()) continue;
    EXPECT_FALSE(shortcuts.contains(action->shortcut().toString()))
        << action->shortcut().toString().toStdString();
    shortcuts << action->shortcut().toString();
  }
}

TEST(Window, ChangesANumberOfAMachineAsACopyThatUndoTakesBack) {
  Session session;
  Window window(session);
  window.show();
  window.show_page("machines");
  Page* page = window.page();
  auto* which = page->findChild<QComboBox*>();
  which->setCurrentText("workstation_2gpu");
  page->findChild<QLineEdit*>()->setText("host.memory assumed");
  auto* model = page->findChild<QTableView*>()->model();
  ASSERT_GE(model->rowCount(), 1);
  const Question before = session.question();
  model->setData(model->index(0, 1), "128", Qt::EditRole);  // no unit
  QCoreApplication::processEvents();
  EXPECT_EQ(session.question(), before);
  model->setData(model->index(0, 1), "128 GiB", Qt::EditRole);
  QCoreApplication::processEvents();
  ASSERT_TRUE(session.question().machine_file.is_object()) << page->text().toStdString();
  EXPECT_EQ(session.question().machine_file["host"]["memory"], "128 GiB");
  EXPECT_TRUE(page->text().contains("128 GiB (changed)")) << page->text().toStdString();
  session.undo_stack().undo();
  EXPECT_EQ(session.question(), before);
}

TEST(Window, ShowsBothRunsOfAValidationOnOneAxis) {
  Session session;
  Window window(session);
  window.show();
  window.show_page("validate");
  auto* timeline = window.page()->findChild<Timeline*>();
  ASSERT_TRUE(timeline);
  EXPECT_FALSE(timeline->isVisible());
  const QTemporaryDir folder;
  QFile file(folder.filePath("both.json"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(R"({"traceEvents": [
    {"ph": "X", "pid": 1, "tid": 1, "name": "measured", "ts": 0, "dur": 10},
    {"ph": "X", "pid": 2, "tid": 1, "name": "predicted", "ts": 0, "dur": 8}]})");
  file.close();
  session.take_validation({{"errors", {{"step_time_s", 0.2}}}});
  session.read_trace_of(file.fileName(), "Measured and predicted");
  ASSERT_TRUE(until([&] { return timeline->trace() != nullptr; }, 5000));
  window.show_page("validate");
  EXPECT_TRUE(timeline->isVisible());
  session.take_validation({{"errors", {{"step_time_s", 0.1}}}});  // has no trace
  EXPECT_FALSE(timeline->isVisible());
}

/// As `validate --json --trace FILE` writes both, in either order.
TEST(Window, ShowsTheTimelinesOfAValidationThatIsOpenedBesideItsTrace) {
  const QTemporaryDir folder;
  const auto write = [&](const char* name, const char* text) {
    QFile file(folder.filePath(name));
    if (file.open(QIODevice::WriteOnly)) file.write(text);
    return file.fileName();
  };
  const QString validation = write("val.json", R"({"schema": "spillway/validation/1",
    "errors": {"peak_bytes.gpu.total": 0.1}, "measured": {"step_time_s": 10e-6},
    "predicted": {"step_time_s": 8e-6}})");
  const QString longer = write("longer.json", R"({"schema": "spillway/validation/1",
    "measured": {"step_time_s": 10}, "predicted": {"step_time_s": 8}})");
  const QString trace = write("trace.json", R"({"traceEvents": [
    {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "measured rank 0"}},
    {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "predicted rank 0"}},
    {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "steps"}},
    {"ph": "X", "pid": 1, "tid": 2, "name": "step 1", "ts": 0, "dur": 10},
    {"ph": "X", "pid": 1, "tid": 2, "name": "step 2", "ts": 10, "dur": 10},
    {"ph": "X", "pid": 1, "tid": 1, "name": "a", "ts": 0, "dur": 10},
    {"ph": "X", "pid": 2, "tid": 1, "name": "b", "ts": 0, "dur": 8}]})");
  for (const QStringList& files : {QStringList{validation, trace}, QStringList{trace, validation},
                                   QStringList{longer, trace}}) {
    Session session;
    Window window(session);
    window.show();
    session.open(files);
    ASSERT_TRUE(until([&] { return window.idle() && session.trace(); }));
    window.show_page("validate");
    const auto* timeline = window.page()->findChild<Timeline*>();
    const bool same_run = !files.contains(longer);  // the trace has not one of its steps
    EXPECT_EQ(timeline->isVisible(), same_run) << files.join(' ').toStdString();
    EXPECT_EQ(timeline->trace() == session.trace(), same_run);
    if (!same_run) continue;
    EXPECT_LE(timeline->axis().from(), 0);  // the prediction ends before step 2
  }
}

TEST(Palette, FindsCommandsByLettersInOrder) {
  EXPECT_EQ(match_of("cac", "Copy as command"), 0);
  EXPECT_EQ(match_of("tl", "Copy"), -1);
  EXPECT_LT(match_of("copy", "Copy as text"), match_of("cext", "Copy as text"));
}

TEST(TimelineWidget, ZoomsPansAndFitsByKeys) {
  Timeline timeline;
  timeline.resize(900, 500);
  timeline.set_trace(many_slices(1000));
  timeline.show();
  const double all = timeline.axis().span();
  QTest::keyClick(&timeline, Qt::Key_W);
  EXPECT_NEAR(timeline.axis().span(), all / 1.4, all * 0.01);
  const double from = timeline.axis().from();
  QTest::keyClick(&timeline, Qt::Key_D);
  EXPECT_GT(timeline.axis().from(), from);
  QTest::keyClick(&timeline, Qt::Key_F);
  EXPECT_NEAR(timeline.axis().span(), all, all * 0.01);
}

TEST(TimelineWidget, GoesFromMatchToMatch) {
  Timeline timeline;
  timeline.resize(900, 500);
  timeline.set_trace(many_slices(1000));
  timeline.search("layers.7.");
  EXPECT_EQ(timeline.matches(), 25u);  // 1000 / 40
  timeline.find_next();
  ASSERT_TRUE(timeline.selected());
  EXPECT_EQ(timeline.trace()->name_of(*timeline.selected()), "layers.7.op");
}

/// A random event, of the kinds that people's hands make.
void disturb(QWidget* widget, std::mt19937& random) {
  const auto pick = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  const QPoint at(pick(std::max(1, widget->width())), pick(std::max(1, widget->height())));
  static constexpr Qt::Key keys[] = {Qt::Key_W,     Qt::Key_S,    Qt::Key_A,      Qt::Key_D,
                                     Qt::Key_F,     Qt::Key_Left, Qt::Key_Right,  Qt::Key_Up,
                                     Qt::Key_Down,  Qt::Key_Tab,  Qt::Key_Escape, Qt::Key_Return,
                                     Qt::Key_Space, Qt::Key_1,    Qt::Key_Delete};
  switch (pick(6)) {
    case 0:
      QTest::mouseClick(widget, Qt::LeftButton, {}, at);
      break;
    case 1:
      QTest::mouseMove(widget, at);
      break;
    case 2:
      QTest::mousePress(widget, Qt::LeftButton, Qt::ShiftModifier, at);
      break;
    case 3:
      QTest::mouseRelease(widget, Qt::LeftButton, {}, at);
      break;
    case 4:
      QTest::keyClick(widget, keys[pick(std::size(keys))]);
      break;
    default: {
      QWheelEvent wheel(at, widget->mapToGlobal(at), {}, QPoint(0, pick(480) - 240), Qt::NoButton,
                        {}, Qt::NoScrollPhase, false);
      QApplication::sendEvent(widget, &wheel);
    }
  }
}

TEST(TimelineWidget, SurvivesTenThousandRandomEvents) {
  LONG_TEST();
  Timeline timeline;
  timeline.resize(700, 400);
  timeline.set_trace(many_slices(20'000));
  timeline.show();
  std::mt19937 random(1);
  for (int i = 0; i < 10'000; ++i) {
    disturb(i % 2 == 0 ? static_cast<QWidget*>(&timeline) : timeline.viewport(), random);
    if (i % 1000 == 0) timeline.set_trace(many_slices(i == 5000 ? 0 : 5000));
    if (i % 500 == 0) timeline.grab();
  }
}

}  // namespace
}  // namespace spillway::gui
