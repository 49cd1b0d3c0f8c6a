#include "gui/chart/counter_paint.hpp"

#include "gui/chart/palette.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::gui {

namespace {

/// In each column of pixels the instant at which the counter is largest, so that no peak is lost,
/// and what is stacked there was held at once.
std::vector<Instant> fullest_by_column(const Series& total, const Axis& axis, int left, int count) {
  std::vector<Instant> fullest;
  fullest.reserve(static_cast<std::size_t>(count));
  const auto after = [](Instant at, const Sample& sample) { return at < sample.at; };
  Instant from = instant(axis.value(left));
  auto next = std::upper_bound(total.samples.begin(), total.samples.end(), from, after);
  std::uint64_t held = next == total.samples.begin() ? 0 : std::prev(next)->value;
  for (int i = 0; i < count; ++i) {
    const Instant to = instant(axis.value(left + i + 1));
    Instant at = from;
    std::uint64_t most = held;
    const auto end = std::upper_bound(next, total.samples.end(), to, after);
    for (; next != end; ++next) {
      held = next->value;
      if (held > most) at = next->at;
      most = std::max(most, held);
    }
    fullest.push_back(at);
    from = to;
  }
  return fullest;
}

/// Values of the series at instants that never go back.
std::vector<double> values_at(const Series& series, const std::vector<Instant>& when) {
  std::vector<double> values;
  values.reserve(when.size());
  auto next = series.samples.begin();
  for (const Instant at : when) {
    next = std::upper_bound(next, series.samples.end(), at,
                            [](Instant one, const Sample& sample) { return one < sample.at; });
    values.push_back(next == series.samples.begin() ? 0
                                                    : static_cast<double>(std::prev(next)->value));
  }
  return values;
}

/// The area between two lines that have a value in each column of pixels.
///   In pieces   a painter's time for a polygon grows with the square of its corners
void paint_between(QPainter& painter, int left, const std::vector<double>& tops,
                   const std::vector<double>& bottoms) {
  constexpr std::size_t piece = 32;
  for (std::size_t from = 0; from < tops.size(); from += piece) {
    const std::size_t to = std::min(from + piece, tops.size());
    const auto x = [left](std::size_t column) { return left + static_cast<double>(column); };
    QPolygonF outline;
    outline.reserve(static_cast<qsizetype>(4 * (to - from)));
    for (std::size_t i = from; i < to; ++i)
      outline << QPointF(x(i), tops[i]) << QPointF(x(i + 1), tops[i]);
    for (std::size_t i = to; i-- > from;)
      outline << QPointF(x(i + 1), bottoms[i]) << QPointF(x(i), bottoms[i]);
    painter.drawPolygon(outline);
  }
}

/// What lies in the area over several columns of pixels, since a hatch that follows each of them
/// takes three times as long as the area itself.
void hatch_between(QPainter& painter, int left, const std::vector<double>& tops,
                   const std::vector<double>& bottoms, const QBrush& hatch) {
  constexpr std::size_t piece = 8;
  constexpr double least_height = 3;
  if (hatch.style() == Qt::NoBrush) return;
  for (std::size_t from = 0; from < tops.size(); from += piece) {
    const auto begin = static_cast<std::ptrdiff_t>(from);
    const auto end = static_cast<std::ptrdiff_t>(std::min(from + piece, tops.size()));
    const double top = *std::max_element(tops.begin() + begin, tops.begin() + end);
    const double bottom = *std::min_element(bottoms.begin() + begin, bottoms.begin() + end);
    if (bottom - top < least_height) continue;
    painter.fillRect(QRectF(left + static_cast<double>(from), top, static_cast<double>(end - begin),
                            bottom - top),
                     hatch);
  }
}

void paint_areas(QPainter& painter, const TimelineLook& look, const Counter& counter,
                 const QRect& chart, const Axis& values) {
  const bool dark = is_dark(look.palette);
  const auto count = static_cast<std::size_t>(chart.width());
  std::vector<double> below(count, 0), tops(count), bottoms(count, values.pixel(0));
  const std::vector<Instant> when =
      fullest_by_column(counter.total, look.axis, chart.left(), chart.width());
  for (const Series& series : counter.series) {
    const auto own = values_at(series, when);
    for (std::size_t i = 0; i < count; ++i) {
      below[i] += own[i];
      tops[i] = values.pixel(below[i]);
    }
    const QString name = QString::fromStdString(series.name);
    painter.setPen(Qt::NoPen);
    QColor colour = purpose_colour(name, dark);
    const bool alone = counter.series.size() == 1;
    if (alone) colour.setAlphaF(0.55F);
    painter.setBrush(colour);
    paint_between(painter, chart.left(), tops, bottoms);
    if (!alone) hatch_between(painter, chart.left(), tops, bottoms, purpose_hatch(name, dark));
    std::swap(tops, bottoms);
  }
}

void paint_peak(QPainter& painter, const TimelineLook& look, const Counter& counter,
                const QRect& chart, const Axis& values) {
  const double x = look.axis.pixel(seconds(counter.peak_at));
  if (x < chart.left() - 1 || x > chart.right() + 1) return;
  const double y = values.pixel(static_cast<double>(counter.total.peak));
  painter.setPen(QPen(look.palette.color(QPalette::WindowText), 1));
  painter.setBrush(look.palette.color(QPalette::Base));
  painter.drawEllipse(QPointF(x, y), 3, 3);
  const QString text =
      "peak " + text_of(quantity_of(counter), static_cast<double>(counter.total.peak));
  painter.setFont(small_font(look.font));
  const int width = painter.fontMetrics().horizontalAdvance(text) + 8;
  const bool left = x + 8 + width > chart.right();
  const QRectF box(left ? x - 8 - width : x + 8, std::max<double>(y - 7, chart.top()), width, 14);
  QColor ground = look.palette.color(QPalette::Base);
  ground.setAlphaF(0.8F);
  painter.fillRect(box, ground);
  painter.drawText(box, Qt::AlignCenter, text);
}

void paint_gutter(QPainter& painter, const TimelineLook& look, const Counter& counter,
                  const QRect& rect) {
  const bool dark = is_dark(look.palette);
  const QRect label(look.area.left(), rect.top(), TimelineLook::gutter, rect.height());
  painter.fillRect(label, look.palette.color(QPalette::Window));
  painter.setFont(look.font);
  painter.setPen(look.palette.color(QPalette::WindowText));
  painter.drawText(QRect(label.left() + 10, label.top() + 3, label.width() - 20, 18),
                   Qt::AlignVCenter | Qt::AlignLeft, QString::fromStdString(counter.name));
  painter.setFont(small_font(look.font));
  painter.setPen(quiet_text(look.palette));
  painter.drawText(
      QRect(label.left() + 10, label.top() + 20, label.width() - 20, 15),
      Qt::AlignVCenter | Qt::AlignLeft,
      "peak " + text_of(quantity_of(counter), static_cast<double>(counter.total.peak)));
  int y = label.top() + 36;
  for (const Series& series : counter.series) {
    if (counter.series.size() < 2 || y + 13 > label.bottom()) break;
    const QString name = QString::fromStdString(series.name);
    const QRect key(label.left() + 10, y + 3, 8, 8);
    painter.fillRect(key, purpose_colour(name, dark));
    if (const QBrush hatch = purpose_hatch(name, dark); hatch.style() != Qt::NoBrush)
      painter.fillRect(key, hatch);
    painter.setPen(quiet_text(look.palette));
    painter.drawText(QRect(label.left() + 23, y, label.width() - 30, 14),
                     Qt::AlignVCenter | Qt::AlignLeft,
                     painter.fontMetrics().elidedText(name, Qt::ElideMiddle, label.width() - 32));
    y += 14;
  }
}

}  // namespace

Quantity quantity_of(const Counter& counter) {
  if (counter.unit == "bytes_per_s") return Quantity::rate;
  if (counter.unit == "gpus") return Quantity::number;
  const bool memory = counter.name.starts_with("gpu") || counter.name.starts_with("host");
  return memory ? Quantity::memory : Quantity::bytes;
}

void paint_counter(QPainter& painter, const TimelineLook& look, const Counter& counter,
                   const QRect& rect) {
  const int left = look.area.left() + TimelineLook::gutter;
  const QRect chart(left, rect.top() + 8, look.area.right() - left + 1, rect.height() - 10);
  const double most = std::max<double>(static_cast<double>(counter.total.peak) * 1.12,
                                       static_cast<double>(counter.capacity) * 1.06);
  const Axis values(0, most > 0 ? most : 1, chart.bottom() + 1, chart.top());
  painter.save();
  painter.setClipRect(chart.adjusted(0, -6, 0, 2), Qt::IntersectClip);
  paint_areas(painter, look, counter, chart, values);
  if (counter.capacity > 0) {
    const double y = std::round(values.pixel(static_cast<double>(counter.capacity))) + 0.5;
    painter.setPen(QPen(bad_colour(is_dark(look.palette)), 1, Qt::DashLine));
    painter.drawLine(QPointF(chart.left(), y), QPointF(chart.right(), y));
  }
  painter.setRenderHint(QPainter::Antialiasing);
  paint_peak(painter, look, counter, chart, values);
  painter.restore();
  paint_gutter(painter, look, counter, rect);
}

QStringList counter_words(const Counter& counter, Instant at) {
  const Quantity quantity = quantity_of(counter);
  QStringList words;
  words << QString::fromStdString(counter.name) + ": " +
               text_of(quantity, static_cast<double>(counter.total.at(at)));
  if (counter.series.size() < 2) return words;
  std::vector<std::pair<std::uint64_t, QString>> all;
  for (const Series& series : counter.series)
    all.emplace_back(series.at(at), QString::fromStdString(series.name));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [value, name] : all)
    if (value > 0) words << name + " " + text_of(quantity, static_cast<double>(value));
  return words;
}

}  // namespace spillway::gui
