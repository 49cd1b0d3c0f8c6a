#pragma once

#include "gui/chart/axis.hpp"
#include "gui/model/space.hpp"

#include <QImage>
#include <QPainter>
#include <QWidget>

#include <optional>
#include <vector>

namespace spillway::gui {

/// Parallel coordinates: an upright axis for each number of a point, and a line for each point.
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
  void set(std::vector<std::string> names, std::vector<Line> lines);
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
  std::vector<char> selected() const;
  void brush(std::size_t axis, std::optional<Range> range);
  void move_brush(bool up, bool only_upper_end);
  void describe();
  void draw_gap(const QRect& inside, std::size_t left, const std::vector<char>& in,
                QImage& image) const;
  void draw_front(QPainter& painter, const QRect& inside, const std::vector<char>& in) const;
  void draw_axis(QPainter& painter, const QRect& inside, std::size_t axis) const;
  QPolygonF polyline(const QRect& inside, const Line& line) const;

  std::vector<std::string> names_;
  std::vector<Line> lines_;
  std::vector<Axis> axes_;
  Ranges ranges_;
  std::size_t current_ = 0;  ///< axis that keys brush
  std::optional<std::size_t> dragged_;
  double dragged_from_ = 0;  ///< pixel
  std::uint64_t selected_ = ~std::uint64_t{0};
};

}  // namespace spillway::gui
