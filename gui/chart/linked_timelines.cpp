#include "gui/chart/linked_timelines.hpp"

#include "gui/model/trace_words.hpp"

#include <QScopedValueRollback>

#include <algorithm>

namespace spillway::gui {

template <class Move>
void LinkedTimelines::follow(Timeline* leader, const Move& move) {
  if (moving_) return;
  const QScopedValueRollback<bool> guard(moving_, true);
  for (Timeline* one : all_)
    if (one != leader && one->trace()) move(*one);
}

void LinkedTimelines::add(Timeline* timeline) {
  all_.push_back(timeline);
  // the scale is the same only where the scroll bars take the same width
  timeline->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
  connect(timeline, &Timeline::axis_changed, this, [this, timeline] {
    if (!moving_) moved_ = true;
    follow(timeline, [&](Timeline& other) { other.set_axis(timeline->axis()); });
  });
  connect(timeline, &Timeline::marked_changed, this, [this, timeline] {
    follow(timeline, [&](Timeline& other) { other.mark(timeline->marked()); });
  });
  connect(timeline, &Timeline::cursor_changed, this, [this, timeline] {
    follow(timeline, [&](Timeline& other) { other.set_cursor(timeline->cursor()); });
  });
  connect(timeline, &QObject::destroyed, this, [this, timeline] {
    std::erase(all_, timeline);
    if (all_.empty()) moved_ = false;
    set_reach();
  });
}

void LinkedTimelines::set_trace(Timeline* timeline, std::shared_ptr<const Trace> trace) {
  {
    const QScopedValueRollback<bool> guard(moving_, true);
    timeline->set_trace(std::move(trace));
  }
  set_reach();
  if (!moved_) return fit_step();
  const QScopedValueRollback<bool> guard(moving_, true);
  for (const Timeline* other : all_) {
    if (other == timeline || !other->trace()) continue;
    timeline->set_axis(other->axis());
    return timeline->mark(other->marked());
  }
}

void LinkedTimelines::set_reach() {
  Instant from = 0, to = 0;
  for (const Timeline* one : all_) {
    if (!one->trace()) continue;
    from = std::min(from, one->trace()->begin);
    to = std::max(to, one->trace()->end);
  }
  for (Timeline* one : all_) one->set_reach(from, to);
}

void LinkedTimelines::fit_step() {
  Instant from = 0, to = 0;
  for (const Timeline* one : all_) {
    if (!one->trace()) continue;
    const auto step = steady_step(*one->trace());
    from = std::min(from, step.first);
    to = std::max(to, step.second);
  }
  const QScopedValueRollback<bool> guard(moving_, true);
  for (Timeline* one : all_)
    if (one->trace()) one->show_span(from, to);
}

void LinkedTimelines::fit() {
  const QScopedValueRollback<bool> guard(moving_, true);
  for (Timeline* one : all_) one->fit();
}

}  // namespace spillway::gui
