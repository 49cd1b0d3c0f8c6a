// What those hear who do not see the window: every field, chart, text and action has a name.
#include "gui/app/palette_dialog.hpp"
#include "gui/chart/tier_bars.hpp"
#include "gui/chart/timeline.hpp"
#include "gui/page/parts.hpp"
#include "tests/gui/full_window.hpp"
#include "tests/long_test.hpp"

#include <QAccessible>
#include <QAction>
#include <QApplication>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QTimer>

namespace spillway::gui {
namespace {

QString said(QWidget* widget, QAccessible::Text what) {
  QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(widget);
  return interface ? interface->text(what) : QString();
}

bool is_chart(const QWidget* widget) {
  return qobject_cast<const Timeline*>(widget) || qobject_cast<const TierBars*>(widget) ||
         qobject_cast<const Tile*>(widget) || widget->inherits("spillway::gui::Scatter") ||
         widget->inherits("spillway::gui::Parallel");
}

/// What is visible below `top` and says too little, a line for each.
QStringList silent(QWidget* top) {
  QStringList all;
  for (QWidget* widget : top->findChildren<QWidget*>()) {
    if (!widget->isVisible() || widget->window() != top->window()) continue;
    const QString kind = widget->metaObject()->className(), name = said(widget, QAccessible::Name);
    if (widget->focusPolicy() != Qt::NoFocus && !widget->focusProxy() && name.isEmpty())
      all << kind + " takes keys and has no name";
    if (is_chart(widget) && (name.isEmpty() || said(widget, QAccessible::Description).isEmpty()))
      all << kind + " \"" + name + "\" is a chart without words";
    auto* label = qobject_cast<QLabel*>(widget);
    if (!label || label->text().isEmpty() || label->buddy() || label->text().startsWith('<'))
      continue;
    if (!name.contains(label->text().remove('&')))
      all << kind + " is called \"" + name + "\" and shows \"" + label->text() + "\"";
  }
  return all;
}

class Accessible : public FullWindow {};

TEST_F(Accessible, EveryFieldChartAndTextOfEveryPageHasItsWords) {
  for (const PageEntry& entry : pages()) {
    show(entry.name);
    EXPECT_EQ(silent(&window_).join("\n").toStdString(), "") << entry.name;
    EXPECT_FALSE(window_.page()->text().trimmed().isEmpty()) << entry.name;
  }
}

TEST_F(Accessible, ThePartsOfTheSystemHaveTheirWords) {
  unfold();
  EXPECT_EQ(silent(&window_).join("\n").toStdString(), "");
}

TEST_F(Accessible, EveryActionHasANameAndAHint) {
  for (const QAction* menu : window_.menuBar()->actions()) EXPECT_FALSE(menu->text().isEmpty());
  for (const QAction* action : window_.all_actions()) {
    EXPECT_FALSE(action->text().isEmpty());
    EXPECT_FALSE(action->statusTip().isEmpty()) << action->text().toStdString();
  }
}

TEST_F(Accessible, EveryFieldOfDialogsHasItsWords) {
  PaletteDialog palette(window_.all_actions(), &window_);
  palette.show();
  EXPECT_EQ(silent(&palette).join("\n").toStdString(), "");
  palette.close();
  QString found = "no dialog";
  QTimer::singleShot(50, [&] {
    QWidget* dialog = QApplication::activeModalWidget();
    if (!dialog) return;
    found = silent(dialog).join("\n");
    EXPECT_FALSE(dialog->windowTitle().isEmpty());
    dialog->close();
  });
  for (QAction* action : window_.all_actions())
    if (action->text() == "&Keys") action->trigger();  // returns when its dialog is closed
  EXPECT_EQ(found.toStdString(), "");
}

TEST_F(Accessible, TheVerdictAndWhereItFlipsAreHeard) {
  LONG_TEST();
  ask_of_parts();
  bool verdict = false, flip = false;
  for (QWidget* widget : window_.page()->findChildren<QWidget*>()) {
    verdict = verdict || said(widget, QAccessible::Name).startsWith("Verdict: ");
    const QString words = said(widget, QAccessible::Description);
    flip = flip || (widget->accessibleName() == "Host memory" && words.contains("fits"));
  }
  EXPECT_TRUE(verdict);
  EXPECT_TRUE(flip);
}

TEST(AccessibleChecks, FindWhatHasNoWords) {
  QWidget top;
  auto* field = new QLineEdit(&top);
  auto* label = new QLabel("text", &top);
  label->setAccessibleName("Verdict");
  top.show();
  const QString found = silent(&top).join("\n");
  EXPECT_TRUE(found.contains("QLineEdit takes keys and has no name")) << found.toStdString();
  EXPECT_TRUE(found.contains("shows \"text\"")) << found.toStdString();
  field->setAccessibleName("Field");
  label->setAccessibleName("Verdict: text");
  EXPECT_EQ(silent(&top).join("\n").toStdString(), "");
}

}  // namespace
}  // namespace spillway::gui
