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

constexpr std::uint8_t no_level = 255;

/// Lines through a pixel that are told apart; more are as strong.
constexpr std::uint32_t most_crossings = 127;

/// How strong a pixel is, by how many lines cross it.
using Shades = std::array<QRgb, most_crossings + 1>;

Shades shades_of(QColor ink, int least, int most) {
  Shades shades{};
  for (std::uint32_t lines = 1; lines <= most_crossings; ++lines) {
    ink.setAlpha(std::min(most, least + static_cast<int>(24 * std::log2(lines))));
    shades[lines] = qPremultiply(ink.rgba());
  }
  return shades;
}

/// Lines through a pixel: outside the brushes in the lower half, inside in the upper one.
using Crossings = std::uint64_t;
constexpr Crossings one_outside = 1, one_inside = Crossings{1} << 32;

/// `above` over `below`, both premultiplied.
QRgb over(QRgb above, QRgb below) {
  const int left = 255 - qAlpha(above);
  const auto mixed = [left](int a, int b) { return a + (b * left + 127) / 255; };
  return qRgba(mixed(qRed(above), qRed(below)), mixed(qGreen(above), qGreen(below)),
               mixed(qBlue(above), qBlue(below)), mixed(qAlpha(above), qAlpha(below)));
}

/// The pixel of so many lines inside (rows) over so many outside.
std::vector<QRgb> pixels_of(const QPalette& palette) {
  const Shades quiet = shades_of(quiet_text(palette), 30, 60);
  const Shades strong = shades_of(series_colour(7, is_dark(palette)), 100, 190);
  std::vector<QRgb> pixels;
  pixels.reserve(strong.size() * quiet.size());
  for (const QRgb above : strong)
    for (const QRgb below : quiet) pixels.push_back(over(above, below));
  return pixels;
}

QRgb pixel_of(Crossings lines, const std::vector<QRgb>& pixels) {
  const std::uint64_t in = std::min<std::uint64_t>(lines >> 32, most_crossings);
  const std::uint64_t out = std::min<std::uint64_t>(lines & 0xffff'ffff, most_crossings);
  return pixels[in * (most_crossings + 1) + out];
}

/// From the least to the most; around each word there is as much room.
Axis axis_over(const Dimension& dimension, const std::vector<double>& values) {
  if (dimension.of_words())
    return Axis(-0.5, static_cast<double>(dimension.words.size()) - 0.5, 0, 1);
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (least > most) least = most = 0;
  const double room = most > least ? 0 : std::max(std::abs(most) * 0.1, 0.5);
  return Axis(least - room, most + room, 0, 1);
}

}  // namespace

Parallel::Parallel(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(260, 140);
  setAccessibleName("Parallel coordinates");
  setToolTip(
      "Drag along an axis to select a range; a double click clears it, Escape all.\n"
      "Left and Right go to another axis, Up and Down brush it, with Shift only at its upper end");
  describe();
}

void Parallel::set(std::vector<Dimension> dimensions, const std::vector<Line>& lines) {
  dimensions_ = std::move(dimensions);
  numbers_.clear();
  front_.clear();
  for (const Line& line : lines) {
    numbers_.push_back(line.number);
    front_.push_back(line.front ? 1 : 0);
  }
  std::erase_if(ranges_, [this](const auto& range) {
    return std::none_of(dimensions_.begin(), dimensions_.end(),
                        [&](const Dimension& one) { return one.path == range.first; });
  });
  axes_.clear();
  values_.assign(dimensions_.size(), {});
  levels_.assign(dimensions_.size(), {});
  for (std::size_t axis = 0; axis < dimensions_.size(); ++axis) {
    values_[axis].reserve(lines.size());
    levels_[axis].reserve(lines.size());
    for (const Line& line : lines) values_[axis].push_back(line.values[axis]);
    axes_.push_back(axis_over(dimensions_[axis], values_[axis]));
    const Axis in_levels = axes_.back().placed(0, levels - 1);
    for (const double value : values_[axis])
      levels_[axis].push_back(std::isfinite(value)
                                  ? static_cast<std::uint8_t>(in_levels.pixel(value) + 0.5)
                                  : no_level);
  }
  if (current_ >= dimensions_.size()) current_ = 0;
  if (dragged_ && *dragged_ >= dimensions_.size()) dragged_.reset();
  select_within();
}

void Parallel::select(std::uint64_t number) {
  selected_ = number;
  update();
}

void Parallel::set_ranges(Ranges ranges) {
  ranges_ = std::move(ranges);
  select_within();
  Q_EMIT brushed();
}

void Parallel::brush(std::size_t axis, std::optional<Range> range) {
  Ranges ranges = ranges_;
  if (range)
    ranges[dimensions_[axis].path] = *range;
  else
    ranges.erase(dimensions_[axis].path);
  set_ranges(std::move(ranges));
}

/// What those hear who do not see it.
void Parallel::describe() {
  QString words = QString("%1 of %2 points selected")
                      .arg(std::count(in_.begin(), in_.end(), 1))
                      .arg(numbers_.size());
  for (const Dimension& one : dimensions_)
    if (const auto range = ranges_.find(one.path); range != ranges_.end())
      words += "; " + words_of(one, range->second);
  if (!dimensions_.empty()) words += "; keys brush " + dimensions_[current_].title;
  setAccessibleDescription(words);
}

void Parallel::select_within() {
  in_.assign(numbers_.size(), 1);
  for (std::size_t axis = 0; axis < dimensions_.size(); ++axis) {
    const auto found = ranges_.find(dimensions_[axis].path);
    if (found == ranges_.end()) continue;
    const Range range = found->second;
    for (std::size_t i = 0; i < in_.size(); ++i)
      in_[i] = static_cast<char>(in_[i] & static_cast<int>(range.holds(values_[axis][i])));
  }
  describe();
  update();
}

QRect Parallel::chart(const QRect& area) const { return area.adjusted(74, 30, -74, -12); }

double Parallel::across(const QRect& inside, std::size_t axis) const {
  const auto gaps = static_cast<double>(std::max<std::size_t>(1, dimensions_.size() - 1));
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
  for (std::size_t axis = 0; axis < dimensions_.size(); ++axis)
    if (std::abs(across(chart(rect()), axis) - at.x()) <= reach) return axis;
  return std::nullopt;
}

/// Adds up how many lines cross each pixel between an axis and the next: those outside the brushes
/// in grey, and those inside in colour over them.
void Parallel::draw_gap(const QRect& inside, std::size_t left, const std::vector<QRgb>& pixels,
                        QImage& image) const {
  std::vector<Crossings> pairs(std::size_t{levels} * levels);
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const std::uint8_t from = levels_[left][i], to = levels_[left + 1][i];
    if (from == no_level || to == no_level) continue;
    pairs[std::size_t{from} * levels + to] += in_[i] ? one_inside : one_outside;
  }
  const int begin = static_cast<int>(across(inside, left));
  const int width = static_cast<int>(across(inside, left + 1)) - begin;
  const int rows = inside.height();
  if (width <= 0) return;
  std::vector<Crossings> crossed(static_cast<std::size_t>(width) * static_cast<std::size_t>(rows));
  constexpr double fine = 65536;  // rows in parts, so that a step is an addition
  const double per_level = fine * (rows - 1.0) / (levels - 1);
  for (int pair = 0; pair < levels * levels; ++pair) {
    const Crossings lines = pairs[static_cast<std::size_t>(pair)];
    if (lines == 0) continue;
    const int from = pair / levels, to = pair % levels;
    auto y = static_cast<std::int64_t>((rows - 1) * fine - from * per_level + fine / 2);
    const auto step = static_cast<std::int64_t>((from - to) * per_level / width);
    Crossings* column = crossed.data();
    for (int x = 0; x < width; ++x, y += step, column += rows) column[y >> 16] += lines;
  }
  for (int y = 0; y < rows; ++y) {
    auto* const line = reinterpret_cast<QRgb*>(image.scanLine(inside.top() + y)) + begin;
    for (int x = 0; x < width; ++x)
      line[x] = pixel_of(crossed[static_cast<std::size_t>(x * rows + y)], pixels);
  }
}

QPolygonF Parallel::polyline(const QRect& inside, std::size_t line) const {
  QPolygonF places;
  for (std::size_t axis = 0; axis < dimensions_.size(); ++axis)
    if (const double value = values_[axis][line]; std::isfinite(value))
      places << QPointF(across(inside, axis), placed(inside, axis).pixel(value));
  return places;
}

void Parallel::draw_front(QPainter& painter, const QRect& inside) const {
  const QColor good = series_colour(3, is_dark(palette()));
  painter.setBrush(good);
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const bool chosen = numbers_[i] == selected_;
    if (!chosen && (!front_[i] || !in_[i])) continue;
    const QPolygonF places = polyline(inside, i);
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
  const double room = inside.width() / std::max(1., static_cast<double>(dimensions_.size()) - 1);
  const double width = std::min(room, 140.) - 6;
  const Dimension& dimension = dimensions_[axis];
  const auto elided = [&painter](const QString& text, double most) {
    return painter.fontMetrics().elidedText(text, Qt::ElideRight, static_cast<int>(most));
  };
  painter.drawText(QRectF(x - width / 2, inside.top() - 24, width, 16), Qt::AlignCenter,
                   elided(dimension.title, width));
  const double label = std::min(axis == 0 ? 66. : room - 14, 110.);
  QColor ground = palette().color(QPalette::Base);
  ground.setAlpha(190);  // lines may cross what is written
  painter.setPen(quiet_text(palette()));
  for (const Tick& tick : ticks_of(dimension, values, dimension.of_words() ? 15 : 36)) {
    const QString text = elided(tick.text, label);
    const int wide = painter.fontMetrics().horizontalAdvance(text);
    const QRectF place(x - wide - 6, values.pixel(tick.value) - 8, wide, 16);
    painter.fillRect(place, ground);
    painter.drawText(place, Qt::AlignRight | Qt::AlignVCenter, text);
  }
  draw_brush(painter, inside, axis);
}

void Parallel::draw_brush(QPainter& painter, const QRect& inside, std::size_t axis) const {
  const auto range = ranges_.find(dimensions_[axis].path);
  if (range == ranges_.end()) return;
  const double x = across(inside, axis) + 0.5;
  const Axis values = placed(inside, axis);
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
  if (dimensions_.empty() || inside.width() <= 0 || inside.height() <= 1) return;
  painter.setFont(small_font(font()));
  QImage image(area.size(), QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  const std::vector<QRgb> pixels = pixels_of(palette());
  for (std::size_t left = 0; left + 1 < dimensions_.size(); ++left)
    draw_gap(inside.translated(-area.topLeft()), left, pixels, image);
  painter.drawImage(area.topLeft(), image);
  draw_front(painter, inside);
  for (std::size_t axis = 0; axis < dimensions_.size(); ++axis) draw_axis(painter, inside, axis);
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

/// The half of the axis in that direction, or its last word.
Range Parallel::first_brush(bool up) const {
  const Axis& axis = axes_[current_];
  const double room = dimensions_[current_].of_words() ? 1 : axis.span() / 2;
  return up ? Range{axis.to() - room, axis.to()} : Range{axis.from(), axis.from() + room};
}

/// By a word, or a part of the axis.
void Parallel::move_brush(bool up, bool only_upper_end) {
  const Axis& axis = axes_[current_];
  const double by = (dimensions_[current_].of_words() ? 1 : axis.span() * key_step) * (up ? 1 : -1);
  const auto now = ranges_.find(dimensions_[current_].path);
  if (now == ranges_.end()) return brush(current_, first_brush(up));
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
  if (dimensions_.empty() || key == Qt::Key_Escape) return QWidget::keyPressEvent(event);
  if (key == Qt::Key_Up || key == Qt::Key_Down)
    return move_brush(key == Qt::Key_Up, event->modifiers() & Qt::ShiftModifier);
  if (key != Qt::Key_Left && key != Qt::Key_Right) return QWidget::keyPressEvent(event);
  if (key == Qt::Key_Left && current_ > 0) --current_;
  if (key == Qt::Key_Right && current_ + 1 < dimensions_.size()) ++current_;
  describe();
  update();
}

void Parallel::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) update();
  QWidget::changeEvent(event);
}

}  // namespace spillway::gui
