#pragma once

#include <QAbstractTableModel>
#include <QString>

#include <vector>

namespace spillway::gui {

/// A cell: what it says, and what it is sorted by.
struct Cell {
  QString text;
  double number = 0;       ///< sorts, where `is_number`
  bool is_number = false;  ///< stands at the right
  QString hint = {};       ///< shown under the pointer
  double share = -1;       ///< 0 to 1: a bar behind the text; below 0: none
  enum class Mood : unsigned char { plain, good, bad, quiet } mood = Mood::plain;
  QString edit = {};  ///< what an editor starts with; empty: not to be edited
};

inline Cell text_cell(const QString& text, const QString& hint = {}) {
  return {text, 0, false, hint};
}
inline Cell number_cell(const QString& text, double number) { return {text, number, true}; }

/// Rows of cells under headers. Its own roles give bars and moods to whoever paints.
class TextTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Role : int { share_role = Qt::UserRole + 1, mood_role, number_role };

  explicit TextTable(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  /// Rows of fewer cells than headers are filled up.
  void set(std::vector<QString> headers, std::vector<std::vector<Cell>> rows);
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  /// Changes nothing itself: says `edited`.
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

  /// Tab-separated, as spreadsheets take it; `rows` empty: all.
  QString as_text(const QModelIndexList& chosen = {}) const;

 Q_SIGNALS:
  /// Somebody wrote `text` into a cell of the row that `first` begins.
  void edited(const QString& first, const QString& text);

 private:
  const Cell& cell_at(const QModelIndex& index) const;

  std::vector<QString> headers_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace spillway::gui
