#pragma once

#include "reports/result/trace.hpp"
#include "reports/trace/trace_lanes.hpp"

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace spillway::reports {

/// Where a track belongs: "rank 3 h2d" is "h2d" of rank 3, "nvme" is "nvme" of the node.
struct TrackName {
  std::string run;  ///< "" where there is but one
  bool of_rank = false;
  std::uint64_t rank = 0;
  std::string thread;

  /// Ranks by number, then the node; the compute stream, copies, then the rest by name.
  std::tuple<std::string, bool, std::uint64_t, std::size_t, std::string> order() const;
  /// "rank 3", "node", after the run where there are several.
  std::string process() const;
};

/// The spans of one track by start, the longer first.
struct Track {
  TrackName place;
  std::vector<const result::TraceSpan*> spans;
};

/// All of them, in the order in which people read them.
std::vector<Track> tracks_of(const result::Trace& trace);

/// Throws  InternalError: a time that is not finite or over 285 years
std::int64_t nanoseconds(double seconds);
/// Throws  InternalError: it ends before it starts
Interval interval_of(const result::TraceSpan& span);

/// Where bars overlap without being calls of each other: the lane of each, and how many there are.
struct Split {
  std::vector<Interval> intervals;
  std::vector<std::size_t> lane;
  std::size_t lanes = 0;
};
Split split(const Track& track);
/// "nvme", "nvme (2)".
std::string lane_title(const TrackName& place, std::size_t lane);

}  // namespace spillway::reports
