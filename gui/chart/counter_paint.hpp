#pragma once

#include "gui/chart/timeline_paint.hpp"

namespace spillway::gui {

/// What a counter's values are: memory of a GPU or the host, bytes on drives, a rate.
Quantity quantity_of(const Counter& counter);

/// Stacked areas over time, with the capacity as a line and the peak marked.
void paint_counter(QPainter& painter, const TimelineLook& look, const Counter& counter,
                   const QRect& rect);

/// The value of each series at `at`, the largest first: "gradients 2.72 GiB".
QStringList counter_words(const Counter& counter, Instant at);

}  // namespace spillway::gui
