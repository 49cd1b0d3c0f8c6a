// Whole windows under random events: every page with something to show, and with nothing.
#include "gui/app/window.hpp"
#include "tests/gui/sample_space.hpp"
#include "tests/gui/until.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <QApplication>
#include <QDialog>
#include <QDir>
#include <QLineEdit>
#include <QScopeGuard>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QWheelEvent>

#include <random>
#include <utility>
#include <vector>

namespace spillway::gui {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr int events_per_window = 10'000;
#else
constexpr int events_per_window = 1'500;
#endif

/// Owns the closing of what a random click opened and waits for a person: dialogs, menus, lists.
class Closer {
 public:
  Closer() {
    QObject::connect(&timer_, &QTimer::timeout, [] {
      if (QWidget* popup = QApplication::activePopupWidget()) popup->close();
      if (auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget()))
        dialog->reject();
    });
    timer_.start(5);
  }

 private:
  QTimer timer_;
};

class Hands {
 public:
  Hands(Window& window, unsigned seed) : window_(window), random_(seed) {}

  void act() {
    if (acted_++ % 40 == 0) look();
    QWidget* widget = seen_[static_cast<std::size_t>(below(static_cast<int>(seen_.size())))];
    if (!widget || !widget->isVisible() || !widget->isEnabled()) return;
    const QPoint at(below(std::max(1, widget->width())), below(std::max(1, widget->height())));
    const Qt::KeyboardModifiers modifiers = below(4) == 0 ? Qt::ShiftModifier : Qt::NoModifier;
    const int what = below(7);
    if (what == 0 || what == 1 || what == 3) let_go();  // one button is pressed once at a time
    switch (what) {
      case 0:
        return QTest::mouseClick(widget, Qt::LeftButton, modifiers, at);
      case 1:
        pressed_.emplace_back(widget);  // no release follows a double click of QTest
        return QTest::mouseDClick(widget, Qt::LeftButton, modifiers, at);
      case 2:
        return QTest::mouseMove(widget, at);
      case 3:
        pressed_.emplace_back(widget);
        return QTest::mousePress(widget, Qt::LeftButton, modifiers, at);
      case 4:
        return QTest::mouseRelease(widget, Qt::LeftButton, modifiers, at);
      case 5:
        return QTest::keyClick(widget, key(), modifiers);
      default:
        turn(widget, at);
    }
  }

  /// A button that is held down on a slider or an arrow changes the number for ever.
  void let_go() {
    for (const QPointer<QWidget>& widget : std::exchange(pressed_, {}))
      if (widget) QTest::mouseRelease(widget, Qt::LeftButton, {}, {-1, -1});  // beside it: no click
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  Qt::Key key() {
    static constexpr Qt::Key keys[] = {
        Qt::Key_W,    Qt::Key_S,      Qt::Key_A,      Qt::Key_D,      Qt::Key_F,
        Qt::Key_1,    Qt::Key_9,      Qt::Key_Left,   Qt::Key_Up,     Qt::Key_Right,
        Qt::Key_Down, Qt::Key_Tab,    Qt::Key_Return, Qt::Key_Escape, Qt::Key_Home,
        Qt::Key_End,  Qt::Key_PageUp, Qt::Key_Space,  Qt::Key_Delete, Qt::Key_PageDown};
    return keys[below(std::size(keys))];
  }

  void turn(QWidget* widget, const QPoint& at) {
    QWheelEvent wheel(at, widget->mapToGlobal(at), {}, QPoint(0, below(480) - 240), Qt::NoButton,
                      {}, Qt::NoScrollPhase, false);
    QApplication::sendEvent(widget, &wheel);
  }

  void look() {
    seen_.clear();
    for (QWidget* widget : window_.findChildren<QWidget*>())
      if (widget->isVisible() && widget->window() == &window_)  // dialogs are closed, not used
        seen_.emplace_back(widget);
    seen_.emplace_back(&window_);
  }

  Window& window_;
  std::mt19937 random_;
  std::vector<QPointer<QWidget>> seen_, pressed_;
  int acted_ = 0;
};

void disturb(Window& window, unsigned seed, int events) {
  const Closer closer;
  for (QLineEdit* line : window.findChildren<QLineEdit*>()) line->setDragEnabled(false);
  Hands hands(window, seed);
  for (int i = 0; i < events; ++i) {
    hands.act();
    if (i % 20 == 0) QApplication::processEvents(QEventLoop::AllEvents, 5);
    if (i % 500 == 0) window.grab();
  }
  hands.let_go();
}

/// What was changed last, to see what did it.
std::string last_changes(Session& session) {
  const QUndoStack& stack = session.undo_stack();
  std::string words = std::to_string(stack.count()) + " changes, the last of them:";
  for (int i = std::max(0, stack.count() - 8); i < stack.count(); ++i)
    words += " " + stack.text(i).toStdString() + ";";
  return words;
}

class RandomEvents : public testing::TestWithParam<const char*> {};

TEST_P(RandomEvents, LeaveAWindowThatStillAnswers) {
  if (GetParam() != std::string("timeline")) LONG_TEST();
  const QTemporaryDir folder;
  // nothing is there that a random word could name
  const auto back = qScopeGuard([before = QDir::currentPath()] { QDir::setCurrent(before); });
  QDir::setCurrent(folder.path());
  const QString database = folder.filePath("space.db");
  write_space(database.toStdString(), 200);
  Session session;
  Window window(session);
  window.show();
  session.open({SPILLWAY_SOURCE_DIR "/scenarios/examples/tiny.json", database});
  ASSERT_TRUE(until([&] { return window.idle() && session.answer().result; }))
      << session.idle() << session.answer().failure << words(session.answer().why_not)
      << static_cast<int>(session.answer().state);
  session.add_contender("one", *session.answer().result);
  session.add_contender("other", *session.answer().result);
  session.ask_trace();
  ASSERT_TRUE(until([&] { return window.idle() && session.trace(); }));
  ASSERT_TRUE(window.show_page(GetParam()));
  disturb(window, 1, events_per_window);
  // a hand let go of everything; what is asked now is answered
  ASSERT_TRUE(window.show_page("what-if"));
  session.open({SPILLWAY_SOURCE_DIR "/scenarios/examples/tiny.json"});
  // where its verdict flips may take longer to find: the page looks for that in peace
  EXPECT_TRUE(until([&] { return session.idle() && session.answer().result; }, 90'000))
      << session.idle() << session.answer().failure << static_cast<int>(session.answer().state)
      << last_changes(session);
  EXPECT_TRUE(window.page()->text().contains("tokens/s"));
}

INSTANTIATE_TEST_SUITE_P(Pages, RandomEvents,
                         testing::Values("what-if", "timeline", "memory", "compare", "explore",
                                         "validate", "machines"),
                         [](const auto& page) {
                           std::string name = page.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(RandomEvents, LeaveAnEmptyWindowAlive) {
  Session session;
  Window window(session);
  window.show();
  disturb(window, 2, events_per_window / 5);
  EXPECT_FALSE(window.grab().isNull());
}

}  // namespace
}  // namespace spillway::gui
