// What needs windows of a display: with_display.sh runs these tests in an X server of its own.
#include "gui/app/window.hpp"
#include "tests/gui/until.hpp"

#include <gtest/gtest.h>
#include <QApplication>
#include <QClipboard>
#include <QDrag>
#include <QMimeData>
#include <QProcess>
#include <QStatusBar>
#include <QTest>
#include <QTimer>

#include <cstdio>
#include <set>

namespace spillway::gui {
namespace {

class Display : public testing::Test {
 public:
  void SetUp() override {
    if (QGuiApplication::platformName() != "xcb") GTEST_SKIP() << "needs an X display";
    session_.ask();
    window_.show();
    window_.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_));
    ASSERT_TRUE(until([&] { return window_.isActiveWindow(); })) << "the window got no focus";
  }

  Session session_;
  Window window_{session_};
};

TEST_F(Display, TabGoesToEveryFieldOfWhatIf) {
  window_.show_page("what-if");
  ASSERT_TRUE(until([&] { return QApplication::focusWidget() != nullptr; }));
  std::set<QString> names;
  const QWidget* const first = QApplication::focusWidget();
  for (int i = 0; i < 60; ++i) {
    QWidget* focused = QApplication::focusWidget();
    ASSERT_TRUE(focused);
    for (const QWidget* one = focused; one; one = one->parentWidget())
      if (!one->accessibleName().isEmpty()) names.insert(one->accessibleName());
    QTest::keyClick(focused, Qt::Key_Tab);
    if (QApplication::focusWidget() == first) break;
  }
  for (const char* field : {"Model", "Machine", "Card", "Cards", "Host memory", "Drive", "Drives",
                            "Board", "Context", "Tokens to train on", "System", "Pages"})
    EXPECT_TRUE(names.contains(field)) << field;
}

TEST_F(Display, AnotherProgramReadsWhatWasCopied) {
  ASSERT_TRUE(until([&] { return window_.idle(); }));
  QTest::keyClick(&window_, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
  ASSERT_TRUE(QApplication::clipboard()->ownsClipboard());
  QProcess other;
  other.start(QCoreApplication::applicationFilePath(),
              {"--gtest_also_run_disabled_tests", "--gtest_filter=Clipboard.DISABLED_IsPrinted"});
  ASSERT_TRUE(until([&] { return other.state() == QProcess::NotRunning; }));
  const QString printed = QString::fromUtf8(other.readAllStandardOutput());
  EXPECT_TRUE(printed.contains("[" + window_.page()->command() + "]")) << printed.toStdString();
}

TEST(Clipboard, DISABLED_IsPrinted) {
  std::printf("[%s]\n", qUtf8Printable(QApplication::clipboard()->text()));
}

constexpr const char* what_is_dropped = "SPILLWAY_TEST_DROP";  ///< "x y path"

TEST_F(Display, TakesAFileThatAnotherProgramDrops) {
  ASSERT_TRUE(until([&] { return window_.idle(); }, 90'000));
  const QPoint at = window_.mapToGlobal(window_.rect().center());
  QProcess other;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert(what_is_dropped, QString("%1 %2 %3/scenarios/examples/tiny.json")
                                          .arg(at.x())
                                          .arg(at.y())
                                          .arg(SPILLWAY_SOURCE_DIR));
  other.setProcessEnvironment(environment);
  other.start(QCoreApplication::applicationFilePath(),
              {"--gtest_also_run_disabled_tests", "--gtest_filter=Drag.DISABLED_IsDropped"});
  const bool opened = until(
      [&] {
        return window_.statusBar()->currentMessage().contains("tiny") ||
               other.state() == QProcess::NotRunning;
      },
      60'000);
  other.kill();  // it waits
  other.waitForFinished();
  EXPECT_TRUE(opened && window_.statusBar()->currentMessage().contains("tiny"))
      << other.readAllStandardOutput().toStdString();
  EXPECT_NE(session_.question().model, Question().model);
}

/// What the other program does: it drags a file over the window and lets go of it there.
TEST(Drag, DISABLED_IsDropped) {
  const QStringList words = qEnvironmentVariable(what_is_dropped).split(' ');
  ASSERT_EQ(words.size(), 3);
  QWidget source;
  source.setGeometry(1320, 900, 60, 60);
  source.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&source));
  const QPoint to = source.mapFromGlobal(QPoint(words[0].toInt(), words[1].toInt()));
  auto* drag = new QDrag(&source);  // Qt deletes it
  auto* file = new QMimeData;
  file->setUrls({QUrl::fromLocalFile(words[2])});
  drag->setMimeData(file);
  int step = 0;
  QTimer hand;
  QObject::connect(&hand, &QTimer::timeout, [&] {
    if (++step < 20)
      QTest::mouseMove(source.windowHandle(), to + QPoint(step, 0));
    else
      QTest::mouseRelease(source.windowHandle(), Qt::LeftButton, Qt::NoModifier,
                          to + QPoint(20, 0));
  });
  hand.start(50);
  ASSERT_EQ(drag->exec(Qt::CopyAction), Qt::CopyAction);
  until([] { return false; }, 60'000);  // who got it asks for its content until this is ended
}

}  // namespace
}  // namespace spillway::gui
