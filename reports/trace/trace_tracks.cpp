#include "reports/trace/trace_tracks.hpp"

#include "scenarios/description/errors.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace spillway::reports {

using result::Trace;
using result::TraceSpan;

namespace {

constexpr std::string_view first_threads[] = {"steps", "phases", "compute", "side", "h2d", "d2h"};

TrackName place_of(const std::string& run, const std::string& track) {
  constexpr std::string_view prefix = "rank ";
  const TrackName shared{run, false, 0, track};
  if (!track.starts_with(prefix)) return shared;
  const std::size_t end = track.find_first_not_of("0123456789", prefix.size());
  const bool numbered = end != std::string::npos && end > prefix.size() &&
                        end - prefix.size() < 10 && track[end] == ' ' && end + 1 < track.size();
  if (!numbered) return shared;
  return {run, true, std::stoull(track.substr(prefix.size(), end - prefix.size())),
          track.substr(end + 1)};
}

}  // namespace

std::int64_t nanoseconds(double seconds) {
  ENSURE(std::abs(seconds) < 9e9, "trace: a time that is not finite or over 285 years");
  return std::llround(seconds * 1e9);
}

std::tuple<std::string, bool, std::uint64_t, std::size_t, std::string> TrackName::order() const {
  const auto known = std::find(std::begin(first_threads), std::end(first_threads), thread);
  return {run, !of_rank, rank, static_cast<std::size_t>(known - std::begin(first_threads)), thread};
}

std::string TrackName::process() const {
  return (run.empty() ? "" : run + " ") + (of_rank ? fmt::format("rank {}", rank) : "node");
}

Interval interval_of(const TraceSpan& span) {
  const Interval interval{nanoseconds(span.start_s), nanoseconds(span.end_s)};
  ENSURE(interval.start <= interval.end, "trace: " + span.name + " ends before it starts");
  return interval;
}

std::vector<Track> tracks_of(const Trace& trace) {
  std::map<std::pair<std::string, std::string>, Track> by_name;
  for (const TraceSpan& span : trace.spans) by_name[{span.run, span.track}].spans.push_back(&span);
  std::vector<Track> tracks;
  for (auto& [name, track] : by_name) {
    track.place = place_of(name.first, name.second);
    std::stable_sort(
        track.spans.begin(), track.spans.end(), [](const TraceSpan* a, const TraceSpan* b) {
          return a->start_s != b->start_s ? a->start_s < b->start_s : a->end_s > b->end_s;
        });
    tracks.push_back(std::move(track));
  }
  std::stable_sort(tracks.begin(), tracks.end(), [](const Track& a, const Track& b) {
    return a.place.order() < b.place.order();
  });
  return tracks;
}

Split split(const Track& track) {
  Split found;
  for (const TraceSpan* span : track.spans) found.intervals.push_back(interval_of(*span));
  found.lane = lanes(found.intervals);
  for (const std::size_t lane : found.lane) found.lanes = std::max(found.lanes, lane + 1);
  return found;
}

std::string lane_title(const TrackName& place, std::size_t lane) {
  return lane == 0 ? place.thread : fmt::format("{} ({})", place.thread, lane + 1);
}

}  // namespace spillway::reports
