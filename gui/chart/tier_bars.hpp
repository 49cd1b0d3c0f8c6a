#pragma once

#include "gui/chart/axis.hpp"

#include <QAbstractItemModel>
#include <QPainter>
#include <QPointer>
#include <QWidget>

namespace spillway::gui {

/// A bar for each tier, stacked by buffer, against the capacity of the tier. Its model is a
/// MemoryTree.
class TierBars : public QWidget {
  Q_OBJECT

 public:
  explicit TierBars(QWidget* parent = nullptr);

  void set_model(const QAbstractItemModel* model);
  /// Bounds are drawn hatched.
  void set_approximate(bool approximate);

  QSize sizeHint() const override;
  int heightForWidth(int width) const override;
  bool hasHeightForWidth() const override { return true; }
  void paint(QPainter& painter, const QRect& area) const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Bar;
  std::vector<Bar> bars(const QRect& area) const;
  int legend_height(int width, int tier) const;
  void describe();

  QPointer<const QAbstractItemModel> model_;
  bool approximate_ = false;
};

}  // namespace spillway::gui
