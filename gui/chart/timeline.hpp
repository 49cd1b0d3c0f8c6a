#pragma once

#include "gui/chart/timeline_paint.hpp"

#include <QAbstractScrollArea>

#include <memory>

namespace spillway::gui {

/// Shows a trace: pan, zoom, search, selection of a slice and of a time span.
///   Keys   W S zoom, A D pan, F fit (again: the whole), arrows go from slice to slice, Enter zooms
///          to the selected one, Escape lets go
///   Mouse  wheel zooms, Shift+wheel pans, drag moves, Shift+drag marks a time span
class Timeline : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit Timeline(QWidget* parent = nullptr);

  void set_trace(std::shared_ptr<const Trace> trace);
  const std::shared_ptr<const Trace>& trace() const { return trace_; }

  /// Seconds that are shown.
  Axis axis() const { return look_.axis; }
  void set_axis(const Axis& axis);
  void show_span(Instant from, Instant to);
  /// Pan and zoom stay in it; a trace that is set gives its own.
  void set_reach(Instant from, Instant to);
  void fit();
  void fit_step();

  void select(const std::optional<SliceAt>& place);
  const std::optional<SliceAt>& selected() const { return look_.selected; }
  void mark(const std::optional<std::pair<Instant, Instant>>& span);
  const std::optional<std::pair<Instant, Instant>>& marked() const { return look_.marked; }

  /// Leaves rows out: they are not painted, nor found by search and keys.
  void set_filter(const TrackFilter& filter);
  const TrackFilter& filter() const { return filter_; }
  const ShownTracks& shown_tracks() const { return shown_; }

  /// The instant of the pointer, as a dashed line.
  void set_cursor(const std::optional<Instant>& at);
  const std::optional<Instant>& cursor() const { return look_.cursor; }

  /// Shows what matches, and goes to the next match.
  void search(const QString& text);
  void find_next(bool backwards = false);
  std::size_t matches() const { return match_count_; }

  /// What the pointer is over, in words; empty over nothing.
  QString words_at(const QPoint& at);
  /// The picture of what is shown, for files.
  TimelineLook look_for(const QRect& area) const;

 Q_SIGNALS:
  void axis_changed();
  void selection_changed();
  void marked_changed();
  void cursor_changed();
  /// Other rows are shown, of another trace or by another filter.
  void rows_changed();
  void hovered(const QString& words);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  void lay_out();
  void keep_within();
  void zoom(double about, double factor);
  void step(int slices);
  void reveal(const SliceAt& place);
  bool move_key(int key);
  std::optional<SliceAt> slice_at(const QPoint& at) const;
  const TimelineRow* row_at(int y) const;
  void describe();

  std::shared_ptr<const Trace> trace_;
  TimelineLook look_;
  std::vector<char> expanded_;
  TrackFilter filter_;
  ShownTracks shown_;
  Instant reach_from_ = 0, reach_to_ = 0;
  QString search_text_;
  std::size_t match_count_ = 0;
  QPoint pressed_, last_;
  enum class Drag : unsigned char { none, pan, mark } drag_ = Drag::none;
};

}  // namespace spillway::gui
