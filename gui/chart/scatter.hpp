#pragma once

#include "gui/chart/axis.hpp"

#include <QPainter>
#include <QWidget>

#include <vector>

namespace spillway::gui {

/// Points over two axes; those on the front stand out by colour, size and a line.
class Scatter : public QWidget {
  Q_OBJECT

 public:
  struct Point {
    double x = 0, y = 0;
    bool front = false;
    std::uint64_t number = 0;  ///< whose, for those who click
  };

  explicit Scatter(QWidget* parent = nullptr);

  /// Points of the same dimensions stay where they are painted, unless some have no room.
  void set(const Dimension& x, const Dimension& y, std::vector<Point> points);
  const Axis& across() const { return x_; }
  const Axis& upwards() const { return y_; }
  void select(std::uint64_t number);
  /// Where a point is painted.
  QPointF place_of(const Point& point) const;
  QSize sizeHint() const override { return {520, 300}; }
  void paint(QPainter& painter, const QRect& area) const;

 Q_SIGNALS:
  void chosen(quint64 number);
  /// Twice, or by Return.
  void opened(quint64 number);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  QRect chart(const QRect& area) const;
  void fit();
  bool shows_all() const;
  void zoom(double factor);
  const Point* nearest(const QPointF& to) const;
  void draw_plain(QPainter& painter, std::vector<QPoint> at) const;
  void draw_points(QPainter& painter, const Axis& x, const Axis& y) const;

  Dimension of_x_, of_y_;
  std::vector<Point> points_;
  Axis x_, y_;
  bool follows_ = true;  ///< fits new points, until somebody zooms or pans
  std::uint64_t selected_ = ~std::uint64_t{0};
};

}  // namespace spillway::gui
