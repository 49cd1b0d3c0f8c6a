#pragma once

#include <QLayout>

#include <vector>

namespace spillway::gui {

/// Tiles side by side; in two or more rows where one has no room for what they say.
class TileLayout : public QLayout {
 public:
  explicit TileLayout(int spacing);
  ~TileLayout() override;

  void addItem(QLayoutItem* item) override { items_.push_back(item); }
  int count() const override { return static_cast<int>(items_.size()); }
  QLayoutItem* itemAt(int at) const override;
  QLayoutItem* takeAt(int at) override;
  Qt::Orientations expandingDirections() const override { return Qt::Horizontal; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override;
  QSize minimumSize() const override;
  void setGeometry(const QRect& area) override;

 private:
  /// The least width of each column, where there are so many.
  std::vector<int> columns(int count) const;
  int width_of(const std::vector<int>& columns) const;
  /// As many columns as find room, in rows of about the same length.
  std::vector<int> columns_in(int width) const;
  int row_height() const;

  std::vector<QLayoutItem*> items_;
};

}  // namespace spillway::gui
