#include "gui/chart/parallel.hpp"

#include "gui/chart/palette.hpp"

#include <QKeyEvent>
#include <QMouseEvent>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace spillway::gui {

namespace {

/// Between two axes, lines are counted by the level of both ends, and painted once for each pair.
constexpr int levels = 64;
constexpr double reach = 18;       ///< pixels beside an axis that still are of it
constexpr double key_step = 0.05;  ///< of an axis

/// How strong a pixel is that so many lines cross.
int strength(float lines, int most) {
  return lines <= 0 ? 0 : std::min(most, 40 + static_cast<int>(24 * std::log2(lines + 1)));
}

}  // namespace

Parallel::Parallel(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(260, 140);
  setAccessibleName("Parallel coordinates");
  setToolTip("Drag along an axis to select a range; a double click clears it, Escape all");
  describe();
}

void Parallel::set(std::vector<std::string> names, std::vector<Line> lines) {
  names_ = std::move(names);
  lines_ = std::move(lines);
  std::erase_if(ranges_, [this](const auto& range) {
    return std::find(names_.begin(), names_.end(), range.first) == names_.end();
  });
  axes_.clear();
  for (std::size_t axis = 0; axis < names_.size(); ++axis) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const Line& line : lines_) {
      if (!std::isfinite(line.values[axis])) continue;
      least = std::min(least, line.values[axis]);
      most = std::max(most, line.values[axis]);
    }
    if (least > most) least = most = 0;
    const double room = most > least ? 0 : std::max(std::abs(most) * 0.1, 0.5);
    axes_.emplace_back(least - room, most + room, 0, 1);
  }
  if (current_ >= names_.size()) current_ = 0;
  if (dragged_ && *dragged_ >= names_.size()) dragged_.reset();
  describe();
  update();
}

void Parallel::select(std::uint64_t number) {
  selected_ = number;
  update();
}

void Parallel::set_ranges(Ranges ranges) {
  ranges_ = std::move(ranges);
  describe();
  update();
  Q_EMIT brushed();
}

void Parallel::brush(std::size_t axis, std::optional<Range> range) {
  Ranges ranges = ranges_;
  if (range)
    ranges[names_[axis]] = *range;
  else
    ranges.erase(names_[axis]);
  set_ranges(std::move(ranges));
}

/// What those hear who do not see it.
void Parallel::describe() {
  const std::vector<char> in = selected();
  QString words = QString("%1 of %2 points selected")
                      .arg(std::count(in.begin(), in.end(), 1))
                      .arg(lines_.size());
  for (const auto& [name, range] : ranges_) {
    const QString path = QString::fromStdString(name);
    const Quantity quantity = quantity_of(path);
    words += QString("; %1 from %2 to %3")
                 .arg(path, text_of(quantity, range.from), text_of(quantity, range.to));
  }
  if (!names_.empty()) words += "; keys brush " + QString::fromStdString(names_[current_]);
  setAccessibleDescription(words);
}

std::vector<char> Parallel::selected() const {
  std::vector<char> in(lines_.size(), 1);
  for (std::size_t axis = 0; axis < names_.size(); ++axis) {
    const auto range = ranges_.find(names_[axis]);
    if (range == ranges_.end()) continue;
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (!range->second.holds(lines_[i].values[axis])) in[i] = 0;
  }
  return in;
}

QRect Parallel::chart(const QRect& area) const { return area.adjusted(74, 30, -74, -12); }

double Parallel::across(const QRect& inside, std::size_t axis) const {
  const auto gaps = static_cast<double>(std::max<std::size_t>(1, names_.size() - 1));
  return std::round(inside.left() + inside.width() * static_cast<double>(axis) / gaps);
}

Axis Parallel::placed(const QRect& inside, std::size_t axis) const {
  return axes_[axis].placed(inside.bottom(), inside.top());
}

QPointF Parallel::place_of(std::size_t axis, double value) const {
  const QRect inside = chart(rect());
  return {across(inside, axis), placed(inside, axis).pixel(value)};
}

std::optional<std::size_t> Parallel::axis_at(const QPointF& at) const {
  for (std::size_t axis = 0; axis < names_.size(); ++axis)
    if (std::abs(across(chart(rect()), axis) - at.x()) <= reach) return axis;
  return std::nullopt;
}

/// Adds up how many lines cross each pixel between an axis and the next: those outside the brushes
/// in grey, and those inside in colour over them.
void Parallel::draw_gap(const QRect& inside, std::size_t left, const std::vector<char>& in,
                        QImage& image) const {
  const Axis from = axes_[left].placed(0, levels - 1), to = axes_[left + 1].placed(0, levels - 1);
  std::array<std::vector<float>, 2> pairs;
  for (auto& one : pairs) one.assign(std::size_t{levels} * levels, 0);
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const double a = lines_[i].values[left], b = lines_[i].values[left + 1];
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const auto low = static_cast<std::size_t>(from.pixel(a) + 0.5);
    const auto high = static_cast<std::size_t>(to.pixel(b) + 0.5);
    pairs[in[i] ? 1 : 0][low * levels + high] += 1;
  }
  const int begin = static_cast<int>(across(inside, left));
  const int width = static_cast<int>(across(inside, left + 1)) - begin;
  const int rows = inside.height();
  const bool dark = is_dark(palette());
  const std::array<QColor, 2> inks = {quiet_text(palette()), series_colour(7, dark)};
  const std::array<int, 2> most = {60, 190};
  std::vector<float> crossed(static_cast<std::size_t>(width) * static_cast<std::size_t>(rows));
  const double per_level = (rows - 1.0) / (levels - 1);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    std::fill(crossed.begin(), crossed.end(), 0.F);
    for (int pair = 0; pair < levels * levels; ++pair) {
      const float lines = pairs[layer][static_cast<std::size_t>(pair)];
      if (lines == 0) continue;
      double y = rows - 1 - pair / levels * per_level;
      const double step = (pair / levels - pair % levels) * per_level / std::max(1, width);
      for (int x = 0; x < width; ++x, y += step)
        crossed[static_cast<std::size_t>(x * rows + static_cast<int>(y + 0.5))] += lines;
    }
    QColor ink = inks[layer];
    QPainter painter(&image);
    QImage part(width, rows, QImage::Format_ARGB32_Premultiplied);
    std::array<QRgb, 256> shades{};
    for (int alpha = 0; alpha < 256; ++alpha) {
      ink.setAlpha(alpha);
      shades[static_cast<std::size_t>(alpha)] = qPremultiply(ink.rgba());
    }
    for (int y = 0; y < rows; ++y) {
      auto* const line = reinterpret_cast<QRgb*>(part.scanLine(y));
      for (int x = 0; x < width; ++x)
        line[x] = shades[static_cast<std::size_t>(
            strength(crossed[static_cast<std::size_t>(x * rows + y)], most[layer]))];
    }
    painter.drawImage(begin, inside.top(), part);
  }
}

QPolygonF Parallel::polyline(const QRect& inside, const Line& line) const {
  QPolygonF places;
  for (std::size_t axis = 0; axis < names_.size(); ++axis)
    if (std::isfinite(line.values[axis]))
      places << QPointF(across(inside, axis), placed(inside, axis).pixel(line.values[axis]));
  return places;
}

void Parallel::draw_front(QPainter& painter, const QRect& inside,
                          const std::vector<char>& in) const {
  const QColor good = series_colour(3, is_dark(palette()));
  painter.setBrush(good);
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const bool chosen = lines_[i].number == selected_;
    if (!chosen && (!lines_[i].front || !in[i])) continue;
    const QPolygonF places = polyline(inside, lines_[i]);
    painter.setPen(chosen ? QPen(palette().color(QPalette::WindowText), 3) : QPen(good, 2));
    painter.drawPolyline(places);
    for (const QPointF& at : places)
      painter.fillRect(QRectF(at.x() - 3, at.y() - 3, 6, 6), painter.pen().color());
  }
}

void Parallel::draw_axis(QPainter& painter, const QRect& inside, std::size_t axis) const {
  const double x = across(inside, axis) + 0.5;
  const Axis values = placed(inside, axis);
  const bool current = hasFocus() && axis == current_;
  painter.setPen(QPen(palette().color(QPalette::WindowText), current ? 3 : 1));
  painter.drawLine(QPointF(x, inside.top()), QPointF(x, inside.bottom()));
  const QString name = QString::fromStdString(names_[axis]);
  const double room = inside.width() / std::max(1., static_cast<double>(names_.size()) - 1);
  const double width = std::min(room, 140.) - 6;
  const QString shown =
      painter.fontMetrics().elidedText(name, Qt::ElideLeft, static_cast<int>(width));
  painter.drawText(QRectF(x - width / 2, inside.top() - 24, width, 16), Qt::AlignCenter, shown);
  painter.setPen(quiet_text(palette()));
  for (const Tick& tick : values.ticks(quantity_of(name), 36))
    painter.drawText(QRectF(x - 72, values.pixel(tick.value) - 8, 66, 16),
                     Qt::AlignRight | Qt::AlignVCenter, tick.text);
  const auto range = ranges_.find(names_[axis]);
  if (range == ranges_.end()) return;
  const double top = std::max<double>(inside.top(), values.pixel(range->second.to));
  const double bottom = std::min<double>(inside.bottom(), values.pixel(range->second.from));
  QColor ground = palette().color(QPalette::Highlight);
  painter.setPen(QPen(ground, 1.5));
  ground.setAlpha(70);
  painter.setBrush(ground);
  painter.drawRect(QRectF(x - 7, top, 14, std::max(1., bottom - top)));
}

void Parallel::paint(QPainter& painter, const QRect& area) const {
  painter.fillRect(area, palette().color(QPalette::Base));
  const QRect inside = chart(area);
  if (names_.empty() || inside.width() <= 0 || inside.height() <= 1) return;
  painter.setFont(small_font(font()));
  const std::vector<char> in = selected();
  QImage image(area.size(), QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  for (std::size_t left = 0; left + 1 < names_.size(); ++left)
    draw_gap(inside.translated(-area.topLeft()), left, in, image);
  painter.drawImage(area.topLeft(), image);
  draw_front(painter, inside, in);
  for (std::size_t axis = 0; axis < names_.size(); ++axis) draw_axis(painter, inside, axis);
}

void Parallel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paint(painter, rect());
  if (!hasFocus()) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(palette().color(QPalette::Highlight));
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void Parallel::mousePressEvent(QMouseEvent* event) {
  dragged_ = event->button() == Qt::LeftButton ? axis_at(event->position()) : std::nullopt;
  if (!dragged_) return;
  current_ = *dragged_;
  dragged_from_ = event->position().y();
  describe();
  update();
}

void Parallel::mouseMoveEvent(QMouseEvent* event) {
  if (!dragged_ || std::abs(event->position().y() - dragged_from_) < 3) return;
  const Axis values = placed(chart(rect()), *dragged_);
  const double a = values.value(dragged_from_), b = values.value(event->position().y());
  brush(*dragged_, Range{std::min(a, b), std::max(a, b)});
}

void Parallel::mouseDoubleClickEvent(QMouseEvent* event) {
  dragged_.reset();
  if (const auto axis = axis_at(event->position())) brush(*axis, std::nullopt);
}

/// Without a brush, selects the half of the axis in that direction.
void Parallel::move_brush(bool up, bool only_upper_end) {
  const Axis& axis = axes_[current_];
  const double by = axis.span() * key_step * (up ? 1 : -1);
  const auto now = ranges_.find(names_[current_]);
  const double middle = axis.from() + axis.span() / 2;
  if (now == ranges_.end())
    return brush(current_, up ? Range{middle, axis.to()} : Range{axis.from(), middle});
  Range range = now->second;
  if (!only_upper_end) range.from += by;
  range.to += by;
  if (range.from < axis.from() - axis.span() / 1e6 || range.to > axis.to() + axis.span() / 1e6 ||
      range.to < range.from)
    return;
  brush(current_, range);
}

void Parallel::keyPressEvent(QKeyEvent* event) {
  const int key = event->key();
  if (key == Qt::Key_Escape && !ranges_.empty()) return set_ranges({});
  if (names_.empty() || key == Qt::Key_Escape) return QWidget::keyPressEvent(event);
  if (key == Qt::Key_Up || key == Qt::Key_Down)
    return move_brush(key == Qt::Key_Up, event->modifiers() & Qt::ShiftModifier);
  if (key != Qt::Key_Left && key != Qt::Key_Right) return QWidget::keyPressEvent(event);
  if (key == Qt::Key_Left && current_ > 0) --current_;
  if (key == Qt::Key_Right && current_ + 1 < names_.size()) ++current_;
  describe();
  update();
}

void Parallel::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) update();
  QWidget::changeEvent(event);
}

}  // namespace spillway::gui
