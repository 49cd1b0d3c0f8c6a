#include "gui/page/fields.hpp"

#include "gui/model/named.hpp"
#include "gui/model/text.hpp"
#include "gui/page/parts.hpp"

#include <QCompleter>
#include <QEvent>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QSignalBlocker>

#include <algorithm>

namespace spillway::gui {

namespace {

/// Turning the wheel over a field scrolls the page; it changes a field that has the focus alone.
class WheelGuard : public QObject {
 public:
  using QObject::QObject;
  bool eventFilter(QObject* watched, QEvent* event) override {
    const auto* field = qobject_cast<QWidget*>(watched);
    if (event->type() != QEvent::Wheel || !field || field->hasFocus()) return false;
    event->ignore();
    return true;
  }
};

}  // namespace

void guard(QWidget* field) { field->installEventFilter(new WheelGuard(field)); }

QComboBox* picker(const std::vector<QString>& names, const QString& accessible_name) {
  auto* combo = new QComboBox;
  for (const QString& name : names) combo->addItem(name);
  combo->setAccessibleName(accessible_name);
  combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  combo->setMinimumContentsLength(12);
  combo->setMaxVisibleItems(20);
  combo->setFocusPolicy(Qt::StrongFocus);
  guard(combo);
  return combo;
}

QComboBox* searched_picker(const std::vector<QString>& names, const QString& accessible_name) {
  QComboBox* combo = picker(names, accessible_name);
  combo->setEditable(true);
  combo->setInsertPolicy(QComboBox::NoInsert);
  combo->lineEdit()->setAccessibleName(accessible_name);
  auto* completer = new QCompleter(combo->model(), combo);
  completer->setCaseSensitivity(Qt::CaseInsensitive);
  completer->setFilterMode(Qt::MatchContains);
  completer->setCompletionMode(QCompleter::PopupCompletion);
  combo->setCompleter(completer);
  return combo;
}

void choose(QComboBox* combo, const QString& text) {
  const QSignalBlocker quiet(combo);
  int at = combo->findText(text);
  if (at < 0) {
    combo->addItem(text);
    at = combo->count() - 1;
  }
  const bool was_shown = combo->currentText() == text;
  combo->setCurrentIndex(at);
  if (!combo->isEditable() || was_shown) return;
  combo->setEditText(text);
  if (combo->window()->focusWidget() == combo)
    combo->lineEdit()->selectAll();  // typing replaces it
}

NumberField::NumberField(int least, int most, const QString& name, const Knob* knob) : knob_(knob) {
  setRange(least, most);
  setAccessibleName(name);
  setKeyboardTracking(false);
  setGroupSeparatorShown(true);
  setFocusPolicy(Qt::StrongFocus);
  guard(this);
  if (!knob) return;
  // of one width, so that the sliders beside them stand below each other
  QSpinBox widest;
  widest.setRange(0, 99'999'999);
  widest.setGroupSeparatorShown(true);
  setFixedWidth(widest.sizeHint().width());
}

void NumberField::set_memory() {
  memory_ = true;
  setSuffix(" GiB");
}

void NumberField::put(std::uint64_t value) {
  const QSignalBlocker quiet(this);
  setValue(static_cast<int>(std::min<std::uint64_t>(value, 2'000'000'000)));
}

void NumberField::stepBy(int steps) {
  if (!knob_) return QSpinBox::stepBy(steps);
  auto at = static_cast<std::uint64_t>(std::max(0, value()));
  for (int i = 0; i < std::abs(steps); ++i)
    at = static_cast<std::uint64_t>(knob_->beside(at, steps > 0));
  setValue(static_cast<int>(at));
  selectAll();
}

std::optional<int> NumberField::read(const QString& text) const {
  QString bare = text.trimmed();
  if (!prefix().isEmpty() && bare.startsWith(prefix().trimmed()))
    bare = bare.mid(prefix().trimmed().size()).trimmed();
  if (const QString unit = suffix().trimmed(); !unit.isEmpty() && bare.endsWith(unit))
    bare = bare.chopped(unit.size()).trimmed();
  const std::string typed = bare.toStdString();
  const auto value = memory_ ? memory_gib_in(typed) : whole_in(typed);
  if (!value || *value > static_cast<std::uint64_t>(maximum()) ||
      static_cast<int>(*value) < minimum())
    return std::nullopt;
  return static_cast<int>(*value);
}

QValidator::State NumberField::validate(QString& text, int&) const {
  return read(text) ? QValidator::Acceptable : QValidator::Intermediate;
}

int NumberField::valueFromText(const QString& text) const { return read(text).value_or(value()); }

/// What is no number goes back to the one before.
void NumberField::fixup(QString& text) const {
  const QString most = memory_ ? QString("%1 GiB").arg(maximum()) : QString::number(maximum());
  Q_EMIT refused(QString("%1: \"%2\" is no number from %3 to %4%5")
                     .arg(accessibleName(), text.trimmed(), QString::number(minimum()), most,
                          memory_ ? ", such as 64G" : ""));
  text = textFromValue(value());
}

QGridLayout* section(QVBoxLayout* below, const QString& title) {
  below->addWidget(heading(title));
  auto* form = new QGridLayout;
  form->setContentsMargins(0, 0, 0, 10);
  form->setHorizontalSpacing(10);
  form->setVerticalSpacing(4);
  form->setColumnStretch(1, 1);
  below->addLayout(form);
  return form;
}

QLabel* add_row(QGridLayout* form, const QString& text, QWidget* field, QWidget* focus) {
  auto* label = new QLabel(text);
  label->setBuddy(focus ? focus : field);
  // of one width, so that the fields of all sections stand below each other
  label->setMinimumWidth(label->fontMetrics().horizontalAdvance("Further drives") + 4);
  const int row = form->rowCount();
  form->addWidget(label, row, 0, Qt::AlignLeft | Qt::AlignVCenter);
  form->addWidget(field, row, 1);
  return label;
}

QWidget* beside(QWidget* first, QWidget* second, int stretch_of_first) {
  auto* both = new QWidget;
  auto* row = new QHBoxLayout(both);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  row->addWidget(first, stretch_of_first);
  row->addWidget(second, stretch_of_first > 0 ? 0 : 1);
  return both;
}

}  // namespace spillway::gui
