#pragma once

#include "gui/chart/axis.hpp"
#include "gui/model/track_filter.hpp"

#include <QPainter>
#include <QPalette>

#include <optional>
#include <utility>
#include <vector>

namespace spillway::gui {

/// One row of a timeline: the name of a process, a resource with its lanes, or a counter.
struct TimelineRow {
  enum class Kind : unsigned char { process, track, counter };
  Kind kind = Kind::track;
  std::uint32_t index = 0;  ///< of the track or counter; of a process, its first track
  int top = 0, height = 0;  ///< pixels below the ruler, before scrolling
  int shown_lanes = 0;
};

/// All that decides how a timeline looks: the same on a screen, in a PNG, an SVG or a PDF.
struct TimelineLook {
  const Trace* trace = nullptr;
  std::vector<TimelineRow> rows;
  Axis axis;   ///< seconds at pixels of the painter
  QRect area;  ///< of all, gutter and ruler included
  int scrolled = 0;
  QPalette palette;
  QFont font;
  std::optional<SliceAt> hovered, selected;
  std::optional<std::pair<Instant, Instant>> marked;  ///< the selected time span
  std::vector<char> matches;                          ///< [names] found by a search; empty: none
  std::optional<Instant> cursor;

  static constexpr int gutter = 168, ruler = 28, lane = 17, strip = 5;
  int row_top(const TimelineRow& row) const { return area.top() + ruler + row.top - scrolled; }
  /// Where the lane of a track's row lies; empty where it is folded.
  QRect lane_rect(const TimelineRow& row, std::uint32_t lane_index) const;
};

/// The rows of a trace, one below the other.
///   expanded  [tracks] whether all lanes are shown, or the first few
std::vector<TimelineRow> timeline_rows(const Trace& trace, const std::vector<char>& expanded,
                                       const ShownTracks& shown = {});

/// Height of the rows together.
int timeline_height(const std::vector<TimelineRow>& rows);

void paint_timeline(QPainter& painter, const TimelineLook& look);

}  // namespace spillway::gui
