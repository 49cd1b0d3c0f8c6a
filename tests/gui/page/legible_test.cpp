// Nothing is cut and nothing lies on something else; a test of its own runs this at 200 %.
#include "gui/page/parts.hpp"
#include "gui/page/step_slider.hpp"
#include "tests/gui/full_window.hpp"
#include "tests/long_test.hpp"

#include <QAbstractButton>
#include <QComboBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QScrollArea>
#include <QSpinBox>
#include <QStyleOptionComboBox>

namespace spillway::gui {
namespace {

int width_of(const QWidget* widget, const QString& text) {
  return widget->fontMetrics().size(Qt::TextShowMnemonic, text).width();
}

QString cut_label(const QLabel* label) {
  const QString text = label->text();
  if (text.isEmpty()) return {};
  if (label->wordWrap())
    return label->heightForWidth(label->width()) > label->height() + 1 ? text : QString();
  const QSize hint = label->sizeHint();
  return hint.width() > label->width() + 1 || hint.height() > label->height() + 1 ? text
                                                                                  : QString();
}

/// The widest entry must fit, not only what is chosen now.
QString cut_combo(const QComboBox* combo) {
  QStyleOptionComboBox option;
  option.initFrom(combo);
  option.editable = combo->isEditable();
  const int room =
      combo->style()
          ->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, combo)
          .width();
  for (int i = 0; i < combo->count(); ++i)
    if (width_of(combo, combo->itemText(i)) > room) return combo->itemText(i);
  return {};
}

QString cut_line(const QLineEdit* line) {
  const QString text = line->text().isEmpty() ? line->placeholderText() : line->text();
  const auto* field = qobject_cast<QAbstractSpinBox*>(line->parentWidget());
  const bool free_text = !field && !line->text().isEmpty();  // may be as long as people like
  return !free_text && width_of(line, text) > line->width() ? text : QString();
}

QString cut_header(const QHeaderView* header) {
  if (header->orientation() != Qt::Horizontal) return {};
  for (int i = 0; i < header->count(); ++i)
    if (!header->isSectionHidden(i) && header->sectionSizeHint(i) > header->sectionSize(i))
      return header->model()->headerData(i, Qt::Horizontal).toString();
  return {};
}

/// What of a widget's own text has no room; "" for nothing.
QString cut_text(const QWidget* widget) {
  if (const auto* label = qobject_cast<const QLabel*>(widget)) return cut_label(label);
  if (const auto* combo = qobject_cast<const QComboBox*>(widget)) return cut_combo(combo);
  if (const auto* line = qobject_cast<const QLineEdit*>(widget)) return cut_line(line);
  if (const auto* header = qobject_cast<const QHeaderView*>(widget)) return cut_header(header);
  if (const auto* tile = qobject_cast<const Tile*>(widget)) return tile->cut();
  if (const auto* slider = qobject_cast<const StepSlider*>(widget))
    return slider->sizeHint().width() > slider->width() ||
                   slider->sizeHint().height() > slider->height()
               ? "the words of a slider"
               : QString();
  if (const auto* button = qobject_cast<const QAbstractButton*>(widget)) {
    const QSize text = button->fontMetrics().size(Qt::TextShowMnemonic, button->text());
    return text.width() + 4 > button->width() || text.height() > button->height() ? button->text()
                                                                                  : QString();
  }
  if (const auto* list = qobject_cast<const QListWidget*>(widget))
    return list->sizeHintForColumn(0) > list->viewport()->width() ? "an entry of a list"
                                                                  : QString();
  if (const auto* area = qobject_cast<const QScrollArea*>(widget))
    return area->widget() && area->widget()->width() > area->viewport()->width()
               ? "the right side of what scrolls"
               : QString();
  return {};
}

/// Widgets that Qt puts together themselves, and what scrolls, may reach beyond each other.
bool lays_out_itself(const QWidget* widget) {
  return widget->inherits("QAbstractScrollArea") || widget->inherits("QComboBox") ||
         widget->inherits("QAbstractSpinBox") || widget->inherits("QLineEdit") ||
         widget->inherits("QStatusBar") || widget->inherits("QSplitter") ||
         widget->inherits("QTabBar");
}

QString name_of(const QWidget* widget) {
  const auto* label = qobject_cast<const QLabel*>(widget);
  const auto* button = qobject_cast<const QAbstractButton*>(widget);
  if (button) return QString("%1 \"%2\"").arg(widget->metaObject()->className(), button->text());
  return QString("%1 \"%2\"")
      .arg(widget->metaObject()->className(), label ? label->text() : widget->accessibleName());
}

/// Every widget below `parent`, with all that is wrong with it.
QStringList wrongs(const QWidget* parent) {
  QStringList all;
  QList<const QWidget*> shown;
  for (const QObject* child : parent->children())
    if (const auto* widget = qobject_cast<const QWidget*>(child);
        widget && widget->isVisible() && !widget->isWindow() && !widget->size().isEmpty())
      shown << widget;
  const bool viewport = parent->parentWidget() && parent->parentWidget()->inherits("QScrollArea");
  if (!lays_out_itself(parent) && !viewport)
    for (qsizetype i = 0; i < shown.size(); ++i) {
      if (!parent->rect().contains(shown[i]->geometry()))
        all << name_of(shown[i]) + " reaches beyond " + name_of(parent);
      for (qsizetype j = i + 1; j < shown.size(); ++j)
        if (shown[i]->geometry().intersects(shown[j]->geometry()))
          all << name_of(shown[i]) + " lies on " + name_of(shown[j]);
    }
  for (const QWidget* widget : shown) {
    if (const QString cut = cut_text(widget); !cut.isEmpty())
      all << name_of(widget) + " cuts \"" + cut + "\"";
    all << wrongs(widget);
  }
  return all;
}

class Legible : public FullWindow {
 public:
  /// What a layout within a layout asks for is given a round later.
  static void settle() {
    for (int round = 0; round < 3; ++round) QCoreApplication::processEvents();
  }
};

TEST_F(Legible, NothingIsCutOnAnyPage) {
  for (const PageEntry& entry : pages()) {
    show(entry.name);
    EXPECT_EQ(wrongs(&window_).join("\n").toStdString(), "") << entry.name;
  }
}

TEST_F(Legible, NothingIsCutWithAllFieldsOfABox) {
  LONG_TEST();
  ask_of_parts();
  EXPECT_EQ(wrongs(&window_).join("\n").toStdString(), "");
  session_.pin();
  settle();
  EXPECT_EQ(wrongs(&window_).join("\n").toStdString(), "") << "pinned";
}

TEST_F(Legible, NothingIsCutAmongThePartsOfTheSystem) {
  unfold();
  settle();
  EXPECT_GT(window_.page()->findChildren<QComboBox*>().size(), 30);
  EXPECT_EQ(wrongs(&window_).join("\n").toStdString(), "");
}

TEST_F(Legible, NothingIsCutWhereNothingFits) {
  LONG_TEST();
  Question question;
  question.model = "qwen2.5-7b";
  question.system = "zero_infinity";
  question.box.memory_gib = 16;
  window_.show_page("what-if");
  session_.change(question, "what does not fit");
  ASSERT_TRUE(until([&] { return session_.idle() && !session_.answer().approximate(); }, 90'000));
  ASSERT_FALSE(session_.answer().fits());
  EXPECT_EQ(wrongs(&window_).join("\n").toStdString(), "");
}

/// A remedy and a reason may be long; then they take lines, and tiles take rows.
TEST_F(Legible, NothingIsCutBesideASentenceOfAnyLength) {
  const Question before = session_.question();
  session_.open({SPILLWAY_SOURCE_DIR "/scenarios/examples/qwen7b_one_box.json"});
  window_.show_page("what-if");
  const auto answered = [&] {
    return window_.idle() && session_.question() != before && !session_.answer().approximate() &&
           !session_.answer().changes.empty();
  };
  ASSERT_TRUE(until(answered, 90'000));
  for (const QSize size : {QSize(1280, 860), QSize(1000, 700)}) {
    window_.resize(size);
    settle();
    EXPECT_EQ(window_.size(), size);
    EXPECT_EQ(wrongs(&window_).join("\n").toStdString(), "") << size.width();
  }
}

TEST_F(Legible, TheWindowFitsAScreenOfALaptop) {
  for (const PageEntry& entry : pages()) {
    show(entry.name);
    EXPECT_LE(window_.minimumSizeHint().width(), 1280) << entry.name;
    EXPECT_LE(window_.minimumSizeHint().height(), 860) << entry.name;
  }
}

TEST_F(Legible, RunsAtTheScaleThatItIsAskedFor) {
  const double asked = qEnvironmentVariable("QT_SCALE_FACTOR", "1").toDouble();
  EXPECT_EQ(window_.devicePixelRatioF(), asked);
  EXPECT_EQ(window_.grab().width(), static_cast<int>(asked * window_.width()));
}

TEST(LegibleChecks, FindWhatIsCutAndWhatOverlaps) {
  QWidget parent;
  auto* label = new QLabel("a sentence that needs its room", &parent);
  auto* other = new QLabel("b", &parent);
  label->setGeometry(0, 0, 40, 20);
  other->setGeometry(30, 0, 40, 20);
  parent.resize(300, 100);
  parent.show();
  const QString found = wrongs(&parent).join("\n");
  EXPECT_TRUE(found.contains("cuts \"a sentence")) << found.toStdString();
  EXPECT_TRUE(found.contains("lies on")) << found.toStdString();
  label->setGeometry(0, 0, label->sizeHint().width(), 40);
  other->move(label->width() + 2, 0);
  EXPECT_EQ(wrongs(&parent).join("\n").toStdString(), "");
  other->move(290, 0);
  EXPECT_TRUE(wrongs(&parent).join("\n").contains("reaches beyond"));
}

}  // namespace
}  // namespace spillway::gui
