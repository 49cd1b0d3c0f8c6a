#include "gui/chart/timeline_paint.hpp"

#include "gui/chart/counter_paint.hpp"
#include "gui/chart/palette.hpp"
#include "gui/model/trace_words.hpp"

#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace spillway::gui {

namespace {

constexpr int folded_lanes = 3, most_lanes = 40;
constexpr int counter_height = 92, process_height = 22;

QRect chart_area(const TimelineLook& look) {
  return look.area.adjusted(TimelineLook::gutter, TimelineLook::ruler, 0, 0);
}

/// Paints the slices of one lane: each where it is two pixels wide or more, else by column of
/// pixels, as strong as the column is covered. What lies outside is never looked at.
class LanePainter {
 public:
  LanePainter(QPainter& painter, const TimelineLook& look, const Lane& lane, const QRect& rect)
      : painter_(painter),
        look_(look),
        lane_(lane),
        rect_(rect),
        dark_(is_dark(look.palette)),
        ground_(look.palette.color(QPalette::Base)) {}

  void paint() {
    const double left = rect_.left(), right = rect_.right() + 1;
    const Instant from = instant(look_.axis.value(left)), to = instant(look_.axis.value(right));
    std::size_t i = lane_.first_after(from);
    while (i < lane_.slices.size() && lane_.slices[i].start < to) {
      const Slice& slice = lane_.slices[i];
      const double x0 = look_.axis.pixel(seconds(slice.start));
      const double x1 = look_.axis.pixel(seconds(slice.end));
      if (x1 - x0 >= 2) {
        bar(slice, std::max(x0, left), std::min(x1, right));
        ++i;
      } else {
        i = column(i, std::floor(std::max(x0, left)));
      }
    }
    flush();
  }

 private:
  /// Most slices are of the phase of the one before.
  QColor colour_of(const Slice& slice) {
    if (phase_ != slice.phase) {
      phase_ = slice.phase;
      phase_colour_ = phase_colour(QString::fromStdString(look_.trace->names[slice.phase]), dark_);
    }
    return matches(slice) ? phase_colour_ : mix(phase_colour_, 0.18);
  }
  bool matches(const Slice& slice) const {
    return look_.matches.empty() || look_.matches[slice.name];
  }
  QColor mix(const QColor& colour, double share) const {
    const auto one = [&](int a, int b) { return static_cast<int>(b + (a - b) * share); };
    return QColor(one(colour.red(), ground_.red()), one(colour.green(), ground_.green()),
                  one(colour.blue(), ground_.blue()));
  }

  void bar(const Slice& slice, double x0, double x1) {
    flush();
    const QColor colour = colour_of(slice);
    const double gap = x1 - x0 > 4 ? 1 : 0.5;  // neighbours stay apart
    painter_.fillRect(QRectF(x0, rect_.top(), x1 - x0 - gap, rect_.height()), colour);
    if (x1 - x0 < 38 || rect_.height() < 12) return;
    const QString name = QString::fromStdString(look_.trace->names[slice.name]);
    const QFontMetrics metrics = painter_.fontMetrics();
    painter_.setPen(matches(slice) ? text_on(colour) : quiet_text(look_.palette));
    painter_.drawText(QRectF(x0 + 4, rect_.top(), x1 - x0 - 8, rect_.height()),
                      Qt::AlignVCenter | Qt::AlignLeft,
                      metrics.elidedText(name, Qt::ElideMiddle, static_cast<int>(x1 - x0 - 8)));
  }

  /// Paints the column of pixels at `x`, and gives the first slice behind it.
  std::size_t column(std::size_t i, double x) {
    const Instant from = instant(look_.axis.value(x)), to = instant(look_.axis.value(x + 1));
    const double share =
        to > from ? static_cast<double>(lane_.covered(from, to)) / static_cast<double>(to - from)
                  : 1;
    const auto next = std::partition_point(lane_.slices.begin() + static_cast<std::ptrdiff_t>(i),
                                           lane_.slices.end(),
                                           [&](const Slice& slice) { return slice.end <= to; });
    const Slice* shown = &lane_.slices[i];
    if (!look_.matches.empty()) {
      const auto found = std::find_if(lane_.slices.begin() + static_cast<std::ptrdiff_t>(i), next,
                                      [&](const Slice& slice) { return matches(slice); });
      if (found != next) shown = &*found;
    }
    // a sixth at least: what is short stays in sight
    run(x, mix(colour_of(*shown), std::clamp(0.17 + 0.83 * share, 0.17, 1.0)));
    return std::max(i + 1, static_cast<std::size_t>(next - lane_.slices.begin()));
  }

  /// Columns of one colour beside each other become one rectangle.
  void run(double x, const QColor& colour) {
    if (run_to_ == x && colour == run_colour_) {
      run_to_ = x + 1;
      return;
    }
    flush();
    run_from_ = x;
    run_to_ = x + 1;
    run_colour_ = colour;
  }
  void flush() {
    if (run_to_ > run_from_)
      painter_.fillRect(QRectF(run_from_, rect_.top(), run_to_ - run_from_, rect_.height()),
                        run_colour_);
    run_from_ = run_to_ = -1e9;
  }

  QPainter& painter_;
  const TimelineLook& look_;
  const Lane& lane_;
  const QRect rect_;
  const bool dark_;
  const QColor ground_;
  double run_from_ = -1e9, run_to_ = -1e9;
  QColor run_colour_, phase_colour_;
  std::optional<std::uint32_t> phase_;  ///< of phase_colour_
};

/// Share of time in which the resource works, a column of pixels each.
void paint_strip(QPainter& painter, const TimelineLook& look, const Track& track,
                 const QRect& rect) {
  painter.fillRect(rect, hairline(look.palette));
  QColor colour = quiet_text(look.palette);
  constexpr int step = 2;
  for (int x = rect.left(); x <= rect.right(); x += step) {
    const Instant from = instant(look.axis.value(x)), to = instant(look.axis.value(x + step));
    if (to <= from) continue;
    const double share =
        static_cast<double>(track.covered(from, to)) / static_cast<double>(to - from);
    const double height = share * rect.height();
    if (height > 0.3) painter.fillRect(QRectF(x, rect.bottom() + 1 - height, step, height), colour);
  }
}

void paint_grid(QPainter& painter, const TimelineLook& look, const std::vector<Tick>& ticks) {
  const QRect chart = chart_area(look);
  painter.setPen(QPen(hairline(look.palette), 1));
  for (const Tick& tick : ticks) {
    const double x = std::round(look.axis.pixel(tick.value)) + 0.5;
    painter.drawLine(QPointF(x, chart.top()), QPointF(x, chart.bottom()));
  }
}

void paint_ruler(QPainter& painter, const TimelineLook& look, const std::vector<Tick>& ticks) {
  const QRect ruler(look.area.left(), look.area.top(), look.area.width(), TimelineLook::ruler);
  painter.fillRect(ruler, look.palette.color(QPalette::Window));
  painter.setFont(small_font(look.font));
  const int left = look.area.left() + TimelineLook::gutter;
  painter.setPen(quiet_text(look.palette));
  painter.save();
  painter.setClipRect(
      QRect(left, ruler.top(), look.area.width() - TimelineLook::gutter, ruler.height()));
  for (const Tick& tick : ticks) {
    const double x = look.axis.pixel(tick.value);
    painter.drawLine(QPointF(x, ruler.bottom() - 4), QPointF(x, ruler.bottom()));
    painter.drawText(QRectF(x - 60, ruler.top(), 120, ruler.height() - 5), Qt::AlignCenter,
                     tick.text);
  }
  painter.restore();
  painter.drawText(
      QRect(look.area.left() + 10, ruler.top(), TimelineLook::gutter - 20, ruler.height() - 5),
      Qt::AlignVCenter | Qt::AlignLeft,
      QString("%1 shown").arg(text_of(Quantity::seconds, look.axis.span())));
  painter.setPen(hairline(look.palette));
  painter.drawLine(ruler.bottomLeft(), ruler.bottomRight());
}

void paint_process(QPainter& painter, const TimelineLook& look, const QRect& rect,
                   const std::string& name) {
  painter.fillRect(rect, look.palette.color(QPalette::Window));
  painter.setFont(large_font(small_font(look.font), 1, true));
  painter.setPen(look.palette.color(QPalette::WindowText));
  painter.drawText(rect.adjusted(10, 0, -10, 0), Qt::AlignVCenter | Qt::AlignLeft,
                   QString::fromStdString(name));
}

/// The name at the left, and how busy the resource is in what is shown.
void paint_label(QPainter& painter, const TimelineLook& look, const QRect& rect, const Track& track,
                 int shown) {
  const QRect label(look.area.left(), rect.top(), TimelineLook::gutter, rect.height());
  painter.fillRect(label, look.palette.color(QPalette::Window));
  painter.setFont(look.font);
  painter.setPen(look.palette.color(QPalette::WindowText));
  const QRect line(label.left() + 22, label.top() + 2, label.width() - 32, 18);
  painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft, QString::fromStdString(track.name));
  painter.setFont(small_font(look.font));
  painter.setPen(quiet_text(look.palette));
  const Instant from = instant(look.axis.from()), to = instant(look.axis.to());
  const double share =
      to > from ? static_cast<double>(track.covered(from, to)) / static_cast<double>(to - from) : 0;
  if (!is_overview(track))
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight,
                     QString("%1 %").arg(100 * share, 0, 'f', share < 0.0995 ? 1 : 0));
  const int more = static_cast<int>(track.lanes.size()) - shown;
  if (more > 0 && rect.height() >= 36)
    painter.drawText(line.translated(0, 17), Qt::AlignVCenter | Qt::AlignLeft,
                     QString("%1 at once, %2 shown").arg(track.most_open).arg(shown));
  if (track.lanes.size() > folded_lanes) {
    QPainterPath arrow;
    const QPointF at(label.left() + 12, label.top() + 11);
    const bool open = shown > folded_lanes;
    arrow.addPolygon(
        open ? QPolygonF({at + QPointF(-4, -2), at + QPointF(4, -2), at + QPointF(0, 3)})
             : QPolygonF({at + QPointF(-2, -4), at + QPointF(3, 0), at + QPointF(-2, 4)}));
    painter.fillPath(arrow, quiet_text(look.palette));
  }
}

void paint_track(QPainter& painter, const TimelineLook& look, const TimelineRow& row,
                 const QRect& rect) {
  const Track& track = look.trace->tracks[row.index];
  const int left = look.area.left() + TimelineLook::gutter;
  painter.save();
  painter.setClipRect(QRect(left, rect.top(), look.area.right() - left + 1, rect.height()),
                      Qt::IntersectClip);
  if (!is_overview(track))
    paint_strip(painter, look, track,
                QRect(left, rect.top() + 2, look.area.right() - left + 1, TimelineLook::strip));
  painter.setFont(small_font(look.font));
  for (int lane = 0; lane < row.shown_lanes; ++lane)
    LanePainter(painter, look, track.lanes[static_cast<std::size_t>(lane)],
                look.lane_rect(row, static_cast<std::uint32_t>(lane)))
        .paint();
  painter.restore();
  paint_label(painter, look, rect, track, row.shown_lanes);
}

std::optional<QRectF> slice_rect(const TimelineLook& look, const SliceAt& place) {
  for (const TimelineRow& row : look.rows)
    if (row.kind == TimelineRow::Kind::track && row.index == place.track) {
      const QRect lane = look.lane_rect(row, place.lane);
      if (lane.isEmpty()) return std::nullopt;
      const Slice& slice = look.trace->at(place);
      const double x0 = look.axis.pixel(seconds(slice.start));
      const double x1 = look.axis.pixel(seconds(slice.end));
      return QRectF(x0, lane.top(), std::max(2.0, x1 - x0), lane.height());
    }
  return std::nullopt;
}

void paint_outline(QPainter& painter, const TimelineLook& look, const SliceAt& place,
                   double width) {
  if (const auto rect = slice_rect(look, place)) {
    painter.setPen(QPen(look.palette.color(QPalette::WindowText), width));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect->adjusted(-0.5, -0.5, 0.5, 0.5));
  }
}

/// From `from` to `to`, with a head.
void paint_arrow(QPainter& painter, const QPointF& from, const QPointF& to, const QColor& colour) {
  QPainterPath path(from);
  const double bend = std::max(20.0, std::abs(to.x() - from.x()) / 2);
  path.cubicTo(from + QPointF(bend, 0), to - QPointF(bend, 0), to);
  painter.setPen(QPen(colour, 1.6));
  painter.setBrush(Qt::NoBrush);
  painter.drawPath(path);
  QPainterPath head;
  head.addPolygon(QPolygonF({to, to + QPointF(-7, -3.5), to + QPointF(-7, 3.5)}));
  painter.fillPath(head, colour);
}

/// Arrows of what is selected or under the pointer: its flows, and what it waited for.
void paint_links(QPainter& painter, const TimelineLook& look) {
  const auto shown = look.selected ? look.selected : look.hovered;
  if (!shown) return;
  const QColor colour = look.palette.color(QPalette::WindowText);
  const auto arrow = [&](const SliceAt& from, const SliceAt& to) {
    const auto a = slice_rect(look, from), b = slice_rect(look, to);
    if (a && b)
      paint_arrow(painter, QPointF(a->right(), a->center().y()),
                  QPointF(b->left(), b->center().y()), colour);
  };
  for (const Flow& flow : look.trace->flows)
    if (flow.from == *shown || flow.to == *shown) arrow(flow.from, flow.to);
  const auto cause = cause_of(*look.trace, *shown);
  if (cause && cause->track != shown->track) arrow(*cause, *shown);
}

void paint_marks(QPainter& painter, const TimelineLook& look) {
  const QRect chart = chart_area(look);
  painter.save();
  painter.setClipRect(chart);
  painter.setRenderHint(QPainter::Antialiasing);
  if (look.marked) {
    const double x0 = look.axis.pixel(seconds(look.marked->first));
    const double x1 = look.axis.pixel(seconds(look.marked->second));
    QColor wash = look.palette.color(QPalette::Highlight);
    wash.setAlphaF(0.16F);
    painter.fillRect(QRectF(x0, chart.top(), x1 - x0, chart.height()), wash);
    painter.setPen(QPen(look.palette.color(QPalette::Highlight), 1));
    painter.drawLine(QPointF(x0, chart.top()), QPointF(x0, chart.bottom()));
    painter.drawLine(QPointF(x1, chart.top()), QPointF(x1, chart.bottom()));
  }
  paint_links(painter, look);
  if (look.hovered) paint_outline(painter, look, *look.hovered, 1);
  if (look.selected) paint_outline(painter, look, *look.selected, 2);
  if (look.cursor) {
    const double x = look.axis.pixel(seconds(*look.cursor));
    painter.setPen(QPen(quiet_text(look.palette), 1, Qt::DashLine));
    painter.drawLine(QPointF(x, chart.top()), QPointF(x, chart.bottom()));
  }
  painter.restore();
}

}  // namespace

QRect TimelineLook::lane_rect(const TimelineRow& row, std::uint32_t lane_index) const {
  if (row.kind != TimelineRow::Kind::track || static_cast<int>(lane_index) >= row.shown_lanes)
    return {};
  const bool has_strip = !is_overview(trace->tracks[row.index]);
  const int top = row_top(row) + (has_strip ? strip + 4 : 2) + static_cast<int>(lane_index) * lane;
  return QRect(area.left() + gutter, top, area.width() - gutter, lane - 2);
}

std::vector<TimelineRow> timeline_rows(const Trace& trace, const std::vector<char>& expanded,
                                       const ShownTracks& shown) {
  std::vector<TimelineRow> rows;
  int y = 0;
  const auto add = [&](TimelineRow::Kind kind, std::size_t index, int height, int lanes) {
    rows.push_back({kind, static_cast<std::uint32_t>(index), y, height, lanes});
    y += height;
  };
  std::string process;
  for (std::size_t i = 0; i < trace.tracks.size(); ++i) {
    const Track& track = trace.tracks[i];
    if (!shown.track(i)) continue;
    if (rows.empty() || track.process != process)
      add(TimelineRow::Kind::process, i, process_height, 0);
    process = track.process;
    const int most = i < expanded.size() && expanded[i] ? most_lanes : folded_lanes;
    const int lanes = std::min(static_cast<int>(track.lanes.size()), most);
    const int strip = is_overview(track) ? 4 : TimelineLook::strip + 8;
    add(TimelineRow::Kind::track, i, std::max(22, strip + lanes * TimelineLook::lane), lanes);
  }
  for (std::size_t i = 0; i < trace.counters.size(); ++i)
    if (shown.counter(i)) add(TimelineRow::Kind::counter, i, counter_height, 0);
  return rows;
}

int timeline_height(const std::vector<TimelineRow>& rows) {
  return rows.empty() ? 0 : rows.back().top + rows.back().height;
}

void paint_timeline(QPainter& painter, const TimelineLook& look) {
  painter.fillRect(look.area, look.palette.color(QPalette::Base));
  if (!look.trace) return;
  painter.setFont(look.font);
  if (look.rows.empty() && look.trace->slices > 0) {
    painter.setPen(quiet_text(look.palette));
    painter.drawText(chart_area(look), Qt::AlignCenter, "Every track is hidden");
  }
  const std::vector<Tick> ticks = look.axis.ticks(Quantity::seconds, 96);
  paint_grid(painter, look, ticks);
  painter.save();
  painter.setClipRect(look.area.adjusted(0, TimelineLook::ruler, 0, 0));
  for (const TimelineRow& row : look.rows) {
    const QRect rect(look.area.left(), look.row_top(row), look.area.width(), row.height);
    if (rect.bottom() < look.area.top() || rect.top() > look.area.bottom()) continue;
    if (row.kind == TimelineRow::Kind::process)
      paint_process(painter, look, rect, look.trace->tracks[row.index].process);
    else if (row.kind == TimelineRow::Kind::track)
      paint_track(painter, look, row, rect);
    else
      paint_counter(painter, look, look.trace->counters[row.index], rect);
    painter.setPen(hairline(look.palette));
    painter.drawLine(rect.bottomLeft(), rect.bottomRight());
  }
  paint_marks(painter, look);
  painter.restore();
  paint_ruler(painter, look, ticks);
  painter.setPen(hairline(look.palette));
  const int x = look.area.left() + TimelineLook::gutter - 1;
  painter.drawLine(x, look.area.top(), x, look.area.bottom());
}

}  // namespace spillway::gui
