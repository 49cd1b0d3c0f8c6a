#pragma once

#include <QAction>
#include <QDialog>
#include <QLineEdit>
#include <QListWidget>

namespace spillway::gui {

/// Finds a command by letters of its name, in order; Enter does it.
class PaletteDialog : public QDialog {
  Q_OBJECT

 public:
  PaletteDialog(QList<QAction*> actions, QWidget* parent);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void filter();
  void act();

  QList<QAction*> actions_;
  QLineEdit* typed_;
  QListWidget* list_;
};

/// How well the letters of `typed` lie in `name`, in order: the smaller the better; below 0: not.
int match_of(const QString& typed, const QString& name);

}  // namespace spillway::gui
