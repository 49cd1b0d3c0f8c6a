#include "gui/page/field_undo.hpp"

#include <QAbstractItemView>
#include <QCompleter>
#include <QKeyEvent>

#include <algorithm>

namespace spillway::gui {

FieldUndo::FieldUndo(QUndoStack& stack, QObject* parent) : QObject(parent), stack_(stack) {}

void FieldUndo::watch(QLineEdit* line) {
  fields_.push_back({line, line->text()});
  connect(line, &QObject::destroyed, this, [this, line] {
    std::erase_if(fields_, [line](const Field& field) { return field.line == line; });
  });
  line->installEventFilter(this);
  if (line->focusProxy()) line->focusProxy()->installEventFilter(this);  // that gets the keys
  if (line->completer()) line->completer()->popup()->installEventFilter(this);
}

void FieldUndo::take() {
  for (Field& field : fields_) field.taken = field.line->text();
}

void FieldUndo::take(const QLineEdit* line) {
  for (Field& field : fields_)
    if (field.line == line) field.taken = line->text();
}

FieldUndo::Field* FieldUndo::field_of(const QObject* watched) {
  const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const Field& field) {
    const QCompleter* completer = field.line->completer();
    return field.line == watched || field.line->focusProxy() == watched ||
           (completer && completer->popup() == watched);
  });
  return found == fields_.end() ? nullptr : &*found;
}

bool FieldUndo::restore(const Field& field) {
  if (field.line->completer()) field.line->completer()->popup()->hide();
  if (field.line->text() == field.taken) return false;
  field.line->setText(field.taken);
  field.line->selectAll();  // typing replaces it
  return true;
}

/// The field accepts the shortcut, which would else be that of the menu, and gets it as a key.
bool FieldUndo::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::ShortcutOverride && event->type() != QEvent::KeyPress) return false;
  const auto* key = static_cast<QKeyEvent*>(event);
  const bool again =
      key->matches(QKeySequence::Redo) ||
      (key->key() == Qt::Key_Z && key->modifiers() == (Qt::ControlModifier | Qt::ShiftModifier));
  if (!again && !key->matches(QKeySequence::Undo)) return false;
  const Field* field = field_of(watched);
  if (!field) return false;
  event->accept();
  if (event->type() == QEvent::ShortcutOverride) return true;
  if (again && field->line->text() == field->taken)
    stack_.redo();
  else if (!again && !restore(*field))
    stack_.undo();
  return true;
}

}  // namespace spillway::gui
