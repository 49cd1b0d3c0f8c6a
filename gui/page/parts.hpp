#pragma once

#include "gui/model/text_table.hpp"

#include <QFrame>
#include <QLabel>
#include <QTableView>
#include <QToolButton>

namespace spillway::gui {

/// A heading over a part of a page.
QLabel* heading(const QString& text, QWidget* parent = nullptr);
/// Text in the colour of captions, over as many lines as it needs.
QLabel* caption(const QString& text, QWidget* parent = nullptr);

/// A table without grid lines over a TextTable, whose bars and moods it paints; Ctrl+C copies rows.
QTableView* table_view(TextTable* model, const QString& accessible_name, QWidget* parent = nullptr);
/// As high as its rows, at most `most` of them.
void fit_height(QTableView* view, int most);

/// A number with its name above and what it is compared with below.
class Tile : public QFrame {
  Q_OBJECT

 public:
  Tile(const QString& name, QWidget* parent = nullptr);
  void set(const QString& value, const QString& below, Cell::Mood mood = Cell::Mood::plain);
  /// What of its text has no room; "" for nothing.
  QString cut() const;
  /// As wide as its texts, so that a row of tiles shares its width out among them.
  QSize sizeHint() const override { return minimumSizeHint(); }
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QRect inside() const;
  QFont value_font() const;

  QString name_, value_, below_;
  Cell::Mood mood_ = Cell::Mood::plain;
};

/// A white card with a hairline around it.
class Card : public QFrame {
  Q_OBJECT

 public:
  explicit Card(QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;
};

/// A flat button of a bar over a chart.
QToolButton* tool_button(const QString& text, const QString& hint);

/// What stands on a page that has nothing to show yet, in its middle.
QLabel* empty_words(const QString& text, QWidget* parent = nullptr);

}  // namespace spillway::gui
