// What needs windows of a display: with_display.sh runs these tests in an X server of its own.
#include "gui/app/window.hpp"
#include "tests/gui/until.hpp"

#include <gtest/gtest.h>
#include <QApplication>
#include <QClipboard>
#include <QMimeData>
#include <QProcess>
#include <QTest>

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

}  // namespace
}  // namespace spillway::gui
