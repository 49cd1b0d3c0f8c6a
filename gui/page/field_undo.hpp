#pragma once

#include <QLineEdit>
#include <QUndoStack>

#include <vector>

namespace spillway::gui {

/// Makes Ctrl+Z and Ctrl+Shift+Z in text fields those of the question. What is typed and not taken
/// yet goes first; a field's own history, which knows nothing of the question, is never used.
class FieldUndo : public QObject {
  Q_OBJECT

 public:
  explicit FieldUndo(QUndoStack& stack, QObject* parent = nullptr);

  /// Watches that line, alone or in a combo box or a number field, and the list below it, as long
  /// as it is there.
  void watch(QLineEdit* line);
  /// All fields show the question: what they say now is taken.
  void take();
  /// That one does.
  void take(const QLineEdit* line);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Field {
    QLineEdit* line = nullptr;
    QString taken = {};
  };

  Field* field_of(const QObject* watched);
  /// What was typed is forgotten.
  ///   Result  false where nothing was
  static bool restore(const Field& field);

  QUndoStack& stack_;
  std::vector<Field> fields_;
};

}  // namespace spillway::gui
