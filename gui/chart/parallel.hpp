#pragma once

#include "gui/chart/axis.hpp"
#include "gui/model/dimension.hpp"

#include <QImage>
#include <QPainter>
#include <QWidget>

#include <optional>
#include <vector>

namespace spillway::gui {

/// Parallel coordinates: an upright axis for each dimension, and a line for each point.
/// Lines of the front are thick and have dots; lines outside the brushes are faint.
class Parallel : public QWidget {
  Q_OBJECT

 public:
  struct Line {
    std::vector<double> values;  ///< one for each axis; not a number where the point has none
    bool front = false;
    std::uint64_t number = 0;  ///< of the point
  };

  explicit Parallel(QWidget* parent = nullptr);

  /// Brushes of axes that stay are kept.
  void set(std::vector<Dimension> dimensions, const std::vector<Line>& lines);
  void select(std::uint64_t number);
  const Ranges& ranges() const { return ranges_; }
  void set_ranges(Ranges ranges);
  /// Where a value of an axis is painted.
  QPointF place_of(std::size_t axis, double value) const;
  QSize sizeHint() const override { return {520, 220}; }
  void paint(QPainter& painter, const QRect& area) const;

 Q_SIGNALS:
  /// Another range of some axis is brushed, or none.
  void brushed();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  QRect chart(const QRect& area) const;
  double across(const QRect& inside, std::size_t axis) const;
  Axis placed(const QRect& inside, std::size_t axis) const;
  std::optional<std::size_t> axis_at(const QPointF& at) const;
  void select_within();
  void brush(std::size_t axis, std::optional<Range> range);
  void move_brush(bool up, bool only_upper_end);
  Range first_brush(bool up) const;
  void describe();
  void draw_gap(const QRect& inside, std::size_t left, const std::vector<QRgb>& pixels,
                QImage& image) const;
  void draw_front(QPainter& painter, const QRect& inside) const;
  void draw_axis(QPainter& painter, const QRect& inside, std::size_t axis) const;
  void draw_brush(QPainter& painter, const QRect& inside, std::size_t axis) const;
  QPolygonF polyline(const QRect& inside, std::size_t line) const;

  std::vector<Dimension> dimensions_;
  std::vector<Axis> axes_;
  std::vector<std::vector<double>> values_;  ///< by axis, then by line
  std::vector<std::vector<std::uint8_t>> levels_;
  std::vector<std::uint64_t> numbers_;  ///< by line, as the next two
  std::vector<char> front_, in_;        ///< `in_`: within all brushes
  Ranges ranges_;
  std::size_t current_ = 0;  ///< axis that keys brush
  std::optional<std::size_t> dragged_;
  double dragged_from_ = 0;  ///< pixel
  std::uint64_t selected_ = ~std::uint64_t{0};
};

}  // namespace spillway::gui
