#include "gui/chart/scatter.hpp"

#include "gui/chart/palette.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace spillway::gui {

namespace {

/// From the least to the most of one coordinate, with room around; not below 0 where nothing is.
template <class Of>
Axis axis_of(const Dimension& dimension, const std::vector<Scatter::Point>& points, const Of& of) {
  double least = 0, most = 1;
  bool any = false;
  for (const Scatter::Point& point : points) {
    const double value = of(point);
    if (!std::isfinite(value)) continue;
    least = any ? std::min(least, value) : value;
    most = any ? std::max(most, value) : value;
    any = true;
  }
  const double room = most > least ? (most - least) * 0.05 : std::max(std::abs(most) * 0.1, 0.5);
  const bool above_zero = least >= 0 && !dimension.of_words();
  return Axis(above_zero ? std::max(0.0, least - room) : least - room, most + room, 0, 1);
}

constexpr double key_pan = 0.1;  ///< of an axis

/// More points than this are painted as an image.
constexpr std::size_t most_rectangles = 5000;

}  // namespace

Scatter::Scatter(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(260, 180);
  setAccessibleName("Points and front");
  setToolTip("The wheel or + and - zoom, arrows pan, F shows all; Return opens the chosen point");
}

void Scatter::set(const Dimension& x, const Dimension& y, std::vector<Point> points) {
  const bool same = x.path == of_x_.path && y.path == of_y_.path && !points_.empty();
  of_x_ = x;
  of_y_ = y;
  points_ = std::move(points);
  if (!same || (follows_ && !shows_all())) fit();
  const auto front =
      std::count_if(points_.begin(), points_.end(), [](const Point& point) { return point.front; });
  setAccessibleDescription(QString("%1 points of %2 over %3, %4 on the front")
                               .arg(points_.size())
                               .arg(of_y_.title, of_x_.title)
                               .arg(front));
  update();
}

void Scatter::select(std::uint64_t number) {
  selected_ = number;
  update();
}

/// Every point lies on the axes as they are.
bool Scatter::shows_all() const {
  return std::all_of(points_.begin(), points_.end(), [this](const Point& point) {
    const bool unknown = !std::isfinite(point.x) || !std::isfinite(point.y);
    return unknown || (point.x >= x_.from() && point.x <= x_.to() && point.y >= y_.from() &&
                       point.y <= y_.to());
  });
}

void Scatter::fit() {
  follows_ = true;
  x_ = axis_of(of_x_, points_, [](const Point& point) { return point.x; });
  y_ = axis_of(of_y_, points_, [](const Point& point) { return point.y; });
  update();
}

/// Many points on one pixel are painted once; of very many an image is painted, at once.
void Scatter::draw_plain(QPainter& painter, std::vector<QPoint> at) const {
  QColor colour = series_colour(7, is_dark(palette()));
  colour.setAlphaF(0.6F);
  constexpr int half = 2;
  if (at.size() > most_rectangles) {
    QImage image(size(), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    const QRgb ink = qPremultiply(colour.rgba());
    for (const QPoint& one : at)
      for (int y = std::max(0, one.y() - half); y < std::min(height(), one.y() + half); ++y) {
        auto* const line = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = std::max(0, one.x() - half); x < std::min(width(), one.x() + half); ++x)
          line[x] = ink;
      }
    return painter.drawImage(0, 0, image);
  }
  std::sort(at.begin(), at.end(), [](const QPoint& a, const QPoint& b) {
    return a.x() != b.x() ? a.x() < b.x() : a.y() < b.y();
  });
  at.erase(std::unique(at.begin(), at.end()), at.end());
  for (const QPoint& one : at)
    painter.fillRect(QRect(one.x() - half, one.y() - half, 2 * half, 2 * half), colour);
}

QRect Scatter::chart(const QRect& area) const { return area.adjusted(74, 24, -14, -40); }

void Scatter::draw_points(QPainter& painter, const Axis& x, const Axis& y) const {
  const bool dark = is_dark(palette());
  std::vector<QPointF> front;
  std::vector<QPoint> plain;
  plain.reserve(points_.size());
  for (const Point& point : points_) {
    if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
    const QPointF at(x.pixel(point.x), y.pixel(point.y));
    if (point.front)
      front.push_back(at);
    else
      plain.push_back(at.toPoint());
  }
  draw_plain(painter, std::move(plain));
  std::sort(front.begin(), front.end(),
            [](const QPointF& a, const QPointF& b) { return a.x() < b.x(); });
  const QColor good = series_colour(3, dark);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(good, 1.5));
  painter.setBrush(Qt::NoBrush);
  if (front.size() > 1) painter.drawPolyline(front.data(), static_cast<int>(front.size()));
  painter.setBrush(good);
  painter.setPen(QPen(palette().color(QPalette::Base), 1));
  for (const QPointF& at : front) painter.drawEllipse(at, 4.5, 4.5);
  for (const Point& point : points_)
    if (point.number == selected_) {
      painter.setBrush(Qt::NoBrush);
      painter.setPen(QPen(palette().color(QPalette::WindowText), 2));
      painter.drawEllipse(QPointF(x.pixel(point.x), y.pixel(point.y)), 7, 7);
    }
}

void Scatter::paint(QPainter& painter, const QRect& area) const {
  painter.fillRect(area, palette().color(QPalette::Base));
  const QRect inside = chart(area);
  const Axis x = x_.placed(inside.left(), inside.right());
  const Axis y = y_.placed(inside.bottom(), inside.top());
  painter.setFont(small_font(font()));
  for (const Tick& tick : ticks_of(of_x_, x, 90)) {
    const double at = std::round(x.pixel(tick.value)) + 0.5;
    painter.setPen(hairline(palette()));
    painter.drawLine(QPointF(at, inside.top()), QPointF(at, inside.bottom()));
    painter.setPen(quiet_text(palette()));
    painter.drawText(QRectF(at - 50, inside.bottom() + 3, 100, 16), Qt::AlignCenter,
                     painter.fontMetrics().elidedText(tick.text, Qt::ElideRight, 88));
  }
  for (const Tick& tick : ticks_of(of_y_, y, of_y_.of_words() ? 16 : 44)) {
    const double at = std::round(y.pixel(tick.value)) + 0.5;
    painter.setPen(hairline(palette()));
    painter.drawLine(QPointF(inside.left(), at), QPointF(inside.right(), at));
    painter.setPen(quiet_text(palette()));
    const QRectF place(area.left() + 4, at - 8, inside.left() - area.left() - 10, 16);
    painter.drawText(place, Qt::AlignRight | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(tick.text, Qt::ElideRight,
                                                      static_cast<int>(place.width())));
  }
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(QRect(inside.left(), inside.bottom() + 20, inside.width(), 18),
                   Qt::AlignRight | Qt::AlignVCenter, of_x_.title);
  painter.drawText(QRect(area.left() + 8, area.top() + 2, inside.width(), 16),
                   Qt::AlignLeft | Qt::AlignVCenter, of_y_.title);
  painter.save();
  painter.setClipRect(inside.adjusted(-6, -6, 6, 6));
  draw_points(painter, x, y);
  painter.restore();
}

void Scatter::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paint(painter, rect());
  if (!hasFocus()) return;
  painter.setPen(palette().color(QPalette::Highlight));
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void Scatter::resizeEvent(QResizeEvent*) { update(); }

QPointF Scatter::place_of(const Point& point) const {
  const QRect inside = chart(rect());
  return {x_.placed(inside.left(), inside.right()).pixel(point.x),
          y_.placed(inside.bottom(), inside.top()).pixel(point.y)};
}

const Scatter::Point* Scatter::nearest(const QPointF& to) const {
  const Point* nearest = nullptr;
  double best = 14 * 14;
  for (const Point& point : points_) {
    const QPointF apart = place_of(point) - to;
    const double away = QPointF::dotProduct(apart, apart) - (point.front ? 9 : 0);
    if (away < best) {
      best = away;
      nearest = &point;
    }
  }
  return nearest;
}

void Scatter::mousePressEvent(QMouseEvent* event) {
  const Point* const point = nearest(event->position());
  if (!point) return;
  select(point->number);
  Q_EMIT chosen(point->number);
}

void Scatter::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const Point* const point = nearest(event->position())) Q_EMIT opened(point->number);
}

void Scatter::wheelEvent(QWheelEvent* event) {
  const QRect inside = chart(rect());
  const Axis x = x_.placed(inside.left(), inside.right());
  const Axis y = y_.placed(inside.bottom(), inside.top());
  const double factor = std::pow(1.0015, event->angleDelta().y());
  follows_ = false;
  x_ = x.zoomed(x.value(event->position().x()), factor);
  y_ = y.zoomed(y.value(event->position().y()), factor);
  event->accept();
  update();
}

void Scatter::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_F) return fit();
  if (event->key() == Qt::Key_Return && selected_ != ~std::uint64_t{0})
    return Q_EMIT opened(selected_);
  const int key = event->key();
  if (key == Qt::Key_Plus || key == Qt::Key_Equal || key == Qt::Key_Minus)
    return zoom(key == Qt::Key_Minus ? 0.8 : 1.25);
  const int across = key == Qt::Key_Right ? 1 : key == Qt::Key_Left ? -1 : 0;
  const int upwards = key == Qt::Key_Up ? 1 : key == Qt::Key_Down ? -1 : 0;
  if (across == 0 && upwards == 0) return QWidget::keyPressEvent(event);
  follows_ = false;
  x_ = x_.panned(across * key_pan);  // of axes that are one pixel long
  y_ = y_.panned(upwards * key_pan);
  update();
}

/// Around the middle.
void Scatter::zoom(double factor) {
  follows_ = false;
  x_ = x_.zoomed(x_.from() + x_.span() / 2, factor);
  y_ = y_.zoomed(y_.from() + y_.span() / 2, factor);
  update();
}

void Scatter::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) update();
  QWidget::changeEvent(event);
}

}  // namespace spillway::gui
