#include "gui/chart/timeline.hpp"

#include "gui/chart/counter_paint.hpp"
#include "gui/model/trace_words.hpp"

#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace spillway::gui {

namespace {

constexpr double least_span_s = 20e-9;

}  // namespace

Timeline::Timeline(QWidget* parent) : QAbstractScrollArea(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  viewport()->setCursor(Qt::ArrowCursor);
  setAccessibleName("Timeline");
  look_.axis = Axis(0, 1, 0, 1);
}

void Timeline::set_trace(std::shared_ptr<const Trace> trace) {
  trace_ = std::move(trace);
  look_.trace = trace_.get();
  look_.hovered.reset();
  look_.selected.reset();
  look_.marked.reset();
  look_.matches.clear();
  expanded_.assign(trace_ ? trace_->tracks.size() : 0, 0);
  shown_ = trace_ ? gui::shown_tracks(*trace_, filter_) : ShownTracks();
  reach_from_ = trace_ ? trace_->begin : 0;
  reach_to_ = trace_ ? trace_->end : 0;
  lay_out();
  fit_step();
  describe();
  Q_EMIT rows_changed();
}

void Timeline::set_filter(const TrackFilter& filter) {
  if (filter == filter_) return;
  filter_ = filter;
  shown_ = trace_ ? gui::shown_tracks(*trace_, filter_) : ShownTracks();
  look_.hovered.reset();
  lay_out();
  if (look_.selected && !shown_.track(look_.selected->track)) select(std::nullopt);
  search(search_text_);
  describe();
  Q_EMIT rows_changed();
}

void Timeline::lay_out() {
  look_.rows = trace_ ? timeline_rows(*trace_, expanded_, shown_) : std::vector<TimelineRow>{};
  look_.area = viewport()->rect();
  look_.axis = look_.axis.placed(TimelineLook::gutter,
                                 std::max(TimelineLook::gutter + 1, look_.area.width()));
  const int visible = look_.area.height() - TimelineLook::ruler;
  verticalScrollBar()->setRange(0, std::max(0, timeline_height(look_.rows) - visible));
  verticalScrollBar()->setPageStep(visible);
  verticalScrollBar()->setSingleStep(20);
  look_.scrolled = verticalScrollBar()->value();
  viewport()->update();
}

void Timeline::keep_within() {
  if (!trace_) return;
  const double begin = seconds(reach_from_), end = seconds(reach_to_);
  const double margin = std::max((end - begin) * 0.02, 1e-9);
  look_.axis = look_.axis.within(begin - margin, end + margin, least_span_s);
  viewport()->update();
  Q_EMIT axis_changed();
}

void Timeline::set_axis(const Axis& axis) {
  if (axis.from() == look_.axis.from() && axis.to() == look_.axis.to()) return;
  look_.axis = Axis(axis.from(), axis.to(), look_.axis.low(), look_.axis.high());
  keep_within();
}

void Timeline::show_span(Instant from, Instant to) {
  const double margin = std::max(seconds(to - from) * 0.02, least_span_s / 2);
  set_axis(Axis(seconds(from) - margin, seconds(to) + margin, 0, 1));
}

void Timeline::set_reach(Instant from, Instant to) {
  reach_from_ = from;
  reach_to_ = to;
}

void Timeline::fit() {
  if (trace_) show_span(reach_from_, reach_to_);
}

void Timeline::fit_step() {
  if (!trace_) return;
  const auto [from, to] = steady_step(*trace_);
  show_span(from, to);
}

void Timeline::select(const std::optional<SliceAt>& place) {
  look_.selected = place;
  viewport()->update();
  describe();
  Q_EMIT selection_changed();
}

void Timeline::mark(const std::optional<std::pair<Instant, Instant>>& span) {
  if (look_.marked == span) return;
  look_.marked = span;
  viewport()->update();
  Q_EMIT marked_changed();
}

void Timeline::search(const QString& text) {
  search_text_ = text;
  look_.matches.clear();
  match_count_ = 0;
  if (trace_ && !text.isEmpty()) {
    look_.matches.assign(trace_->names.size(), 0);
    for (std::size_t i = 0; i < trace_->names.size(); ++i)
      look_.matches[i] =
          QString::fromStdString(trace_->names[i]).contains(text, Qt::CaseInsensitive);
    for (std::size_t track = 0; track < trace_->tracks.size(); ++track) {
      if (!shown_.track(track)) continue;
      for (const Lane& lane : trace_->tracks[track].lanes)
        for (const Slice& slice : lane.slices) match_count_ += look_.matches[slice.name] != 0;
    }
  }
  viewport()->update();
}

void Timeline::find_next(bool backwards) {
  if (!trace_ || search_text_.isEmpty()) return;
  const auto found =
      find_slice(*trace_, search_text_.toStdString(), look_.selected, backwards, shown_);
  if (!found) return;
  select(found);
  reveal(*found);
}

void Timeline::reveal(const SliceAt& place) {
  if (place.lane >= 3 && !expanded_[place.track]) {
    expanded_[place.track] = 1;
    lay_out();
  }
  for (const TimelineRow& row : look_.rows)
    if (row.kind == TimelineRow::Kind::track && row.index == place.track) {
      const int top = row.top + static_cast<int>(place.lane) * TimelineLook::lane;
      const int visible = look_.area.height() - TimelineLook::ruler;
      if (top < look_.scrolled || top + 30 > look_.scrolled + visible)
        verticalScrollBar()->setValue(top - visible / 2);
    }
  const Slice& slice = trace_->at(place);
  const double middle = seconds(slice.start + slice.end) / 2;
  if (middle < look_.axis.from() || middle > look_.axis.to())
    set_axis(Axis(middle - look_.axis.span() / 2, middle + look_.axis.span() / 2, 0, 1));
}

TimelineLook Timeline::look_for(const QRect& area) const {
  TimelineLook look = look_;
  look.palette = palette();
  look.font = font();
  look.area = area;
  look.axis = look_.axis.placed(area.left() + TimelineLook::gutter, area.right() + 1);
  look.hovered.reset();
  look.cursor.reset();
  return look;
}

const TimelineRow* Timeline::row_at(int y) const {
  if (y < TimelineLook::ruler) return nullptr;
  for (const TimelineRow& row : look_.rows)
    if (y >= look_.row_top(row) && y < look_.row_top(row) + row.height) return &row;
  return nullptr;
}

std::optional<SliceAt> Timeline::slice_at(const QPoint& at) const {
  const TimelineRow* row = trace_ ? row_at(at.y()) : nullptr;
  if (!row || row->kind != TimelineRow::Kind::track || at.x() < TimelineLook::gutter)
    return std::nullopt;
  for (int lane = 0; lane < row->shown_lanes; ++lane)
    if (look_.lane_rect(*row, static_cast<std::uint32_t>(lane)).adjusted(0, 0, 0, 2).contains(at))
      return slice_near(*trace_, row->index, static_cast<std::uint32_t>(lane),
                        instant(look_.axis.value(at.x())),
                        instant(3 * std::abs(look_.axis.per_pixel())));
  return std::nullopt;
}

QString Timeline::words_at(const QPoint& at) {
  if (!trace_ || at.x() < TimelineLook::gutter) return {};
  if (const auto place = slice_at(at)) {
    QStringList lines;
    for (const std::string& line : words_of(*trace_, *place)) lines << QString::fromStdString(line);
    return lines.join('\n');
  }
  const TimelineRow* row = row_at(at.y());
  if (row && row->kind == TimelineRow::Kind::counter)
    return counter_words(trace_->counters[row->index], instant(look_.axis.value(at.x())))
        .mid(0, 12)
        .join('\n');
  return {};
}

void Timeline::describe() {
  QString text = "no trace";
  if (trace_)
    text = QString("%1 operations on %2 resources, %3 shown")
               .arg(trace_->slices)
               .arg(trace_->tracks.size())
               .arg(text_of(Quantity::seconds, look_.axis.span()));
  if (const std::size_t hidden = shown_.hidden(); hidden > 0)
    text += QString("; %1 tracks are hidden").arg(hidden);
  if (trace_ && look_.selected)
    for (const std::string& line : words_of(*trace_, *look_.selected))
      text += "; " + QString::fromStdString(line);
  setAccessibleDescription(text);
}

void Timeline::zoom(double about, double factor) {
  look_.axis = look_.axis.zoomed(about, factor);
  keep_within();
}

/// To the next slice of the selected one's lane, or to the first that is shown.
void Timeline::step(int slices) {
  if (!trace_ || trace_->slices == 0) return;
  if (!look_.selected) {
    for (std::uint32_t track = 0; track < trace_->tracks.size(); ++track) {
      if (trace_->tracks[track].lanes.empty() || !shown_.track(track)) continue;
      const std::size_t i = trace_->tracks[track].lanes[0].first_after(instant(look_.axis.from()));
      if (i < trace_->tracks[track].lanes[0].slices.size()) {
        select(SliceAt{track, 0, static_cast<std::uint32_t>(i)});
        return reveal(*look_.selected);
      }
    }
    return;
  }
  SliceAt next = *look_.selected;
  const auto count = trace_->tracks[next.track].lanes[next.lane].slices.size();
  next.slice = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      static_cast<std::int64_t>(next.slice) + slices, 0, static_cast<std::int64_t>(count) - 1));
  select(next);
  reveal(next);
}

bool Timeline::move_key(int key) {
  const double middle = (look_.axis.from() + look_.axis.to()) / 2;
  const double width = look_.axis.high() - look_.axis.low();
  switch (key) {
    case Qt::Key_W:
      zoom(middle, 1.4);
      return true;
    case Qt::Key_S:
      zoom(middle, 1 / 1.4);
      return true;
    case Qt::Key_A:
    case Qt::Key_D:
      look_.axis = look_.axis.panned((key == Qt::Key_A ? -1 : 1) * width * 0.12);
      keep_within();
      return true;
    case Qt::Key_Left:
    case Qt::Key_Comma:
      step(-1);
      return true;
    case Qt::Key_Right:
    case Qt::Key_Period:
      step(1);
      return true;
    default:
      return false;
  }
}

void Timeline::keyPressEvent(QKeyEvent* event) {
  if (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier)) {
    QAbstractScrollArea::keyPressEvent(event);
    return;
  }
  if (move_key(event->key())) return;
  if (event->key() == Qt::Key_F && trace_) {
    const auto [from, to] = steady_step(*trace_);
    const double margin = seconds(to - from) * 0.02;
    const bool is_step = std::abs(look_.axis.from() - (seconds(from) - margin)) < 1e-9;
    if (look_.marked && !is_step)
      show_span(look_.marked->first, look_.marked->second);
    else if (is_step)
      fit();
    else
      fit_step();
  } else if (event->key() == Qt::Key_Return && trace_ && look_.selected) {
    const Slice& slice = trace_->at(*look_.selected);
    show_span(slice.start - slice.length() / 2, slice.end + slice.length() / 2);
  } else if (event->key() == Qt::Key_Escape) {
    select(std::nullopt);
    mark(std::nullopt);
  } else {
    QAbstractScrollArea::keyPressEvent(event);
  }
}

void Timeline::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !trace_) return;
  pressed_ = last_ = event->pos();
  if (event->pos().x() < TimelineLook::gutter) {
    const TimelineRow* row = row_at(event->pos().y());
    if (row && row->kind == TimelineRow::Kind::track) {
      expanded_[row->index] = !expanded_[row->index];
      lay_out();
    }
    return;
  }
  const bool ruler = event->pos().y() < TimelineLook::ruler;
  drag_ = (event->modifiers() & Qt::ShiftModifier) || ruler ? Drag::mark : Drag::pan;
}

void Timeline::mouseMoveEvent(QMouseEvent* event) {
  const QPoint at = event->pos();
  if (drag_ == Drag::pan && (event->buttons() & Qt::LeftButton)) {
    look_.axis = look_.axis.panned(last_.x() - at.x());
    verticalScrollBar()->setValue(verticalScrollBar()->value() + last_.y() - at.y());
    last_ = at;
    keep_within();
    return;
  }
  if (drag_ == Drag::mark && (event->buttons() & Qt::LeftButton)) {
    Instant a = instant(look_.axis.value(std::max(pressed_.x(), TimelineLook::gutter)));
    Instant b = instant(look_.axis.value(std::max(at.x(), TimelineLook::gutter)));
    if (a > b) std::swap(a, b);
    mark(std::make_pair(a, b));
    return;
  }
  if (!trace_) return;
  look_.hovered = slice_at(at);
  set_cursor(at.x() >= TimelineLook::gutter
                 ? std::optional<Instant>(instant(look_.axis.value(at.x())))
                 : std::nullopt);
  const QString words = words_at(at);
  QToolTip::showText(event->globalPosition().toPoint() + QPoint(4, 4), words, viewport());
  Q_EMIT hovered(words);
  viewport()->update();
}

void Timeline::set_cursor(const std::optional<Instant>& at) {
  if (look_.cursor == at) return;
  look_.cursor = at;
  viewport()->update();
  Q_EMIT cursor_changed();
}

void Timeline::mouseReleaseEvent(QMouseEvent* event) {
  const bool click = (event->pos() - pressed_).manhattanLength() < 4;
  if (drag_ == Drag::pan && click) select(slice_at(event->pos()));
  if (drag_ == Drag::mark && click) mark(std::nullopt);
  drag_ = Drag::none;
}

void Timeline::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto place = slice_at(event->pos());
  if (!place) return;
  const Slice& slice = trace_->at(*place);
  show_span(slice.start - slice.length() / 4, slice.end + slice.length() / 4);
}

void Timeline::wheelEvent(QWheelEvent* event) {
  const QPointF at = event->position();
  const QPoint turned = event->angleDelta();
  if (at.x() < TimelineLook::gutter) {
    QAbstractScrollArea::wheelEvent(event);
    return;
  }
  if ((event->modifiers() & Qt::ShiftModifier) || std::abs(turned.x()) > std::abs(turned.y())) {
    const int by = turned.x() != 0 ? turned.x() : turned.y();
    look_.axis = look_.axis.panned(-by);
    keep_within();
  } else if (turned.y() != 0) {
    zoom(look_.axis.value(at.x()), std::pow(1.0015, turned.y()));
  }
  event->accept();
}

void Timeline::leaveEvent(QEvent*) {
  look_.hovered.reset();
  set_cursor(std::nullopt);
  viewport()->update();
}

void Timeline::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
    viewport()->update();
  QAbstractScrollArea::changeEvent(event);
}

void Timeline::scrollContentsBy(int, int) {
  look_.scrolled = verticalScrollBar()->value();
  viewport()->update();
}

void Timeline::resizeEvent(QResizeEvent*) { lay_out(); }

void Timeline::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  look_.palette = palette();
  look_.font = font();
  paint_timeline(painter, look_);
  if (hasFocus()) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 1));
    painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
  }
}

}  // namespace spillway::gui
