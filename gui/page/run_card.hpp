#pragma once

#include "gui/model/asked_run.hpp"
#include "gui/page/parts.hpp"

#include <QPushButton>

namespace spillway::gui {

/// What a run says that it will take and write, buttons that agree and stop, and how far it is.
class RunCard : public Card {
  Q_OBJECT

 public:
  /// Keeps a reference to `run`.
  ///   agree   text of the button that says yes
  ///   before  what it does before it asks: "Predicting ..."
  RunCard(AskedRun& run, const QString& agree, const QString& before, QWidget* parent = nullptr);

  /// What is shown when nothing runs; "" hides it.
  void set_last_words(const QString& words);

 private:
  void refresh();

  AskedRun& run_;
  QString before_, last_words_;
  QLabel* said_;
  QPushButton *agree_, *stop_;
};

/// A button with "..." that opens a dialog, heard as `name`.
QPushButton* browse_button(const QString& name);

/// Its Alt key goes to `field`.
QLabel* label_of(const QString& text, QWidget* field);

}  // namespace spillway::gui
