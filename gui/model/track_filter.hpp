#pragma once

#include "gui/model/trace.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace spillway::gui {

/// Which rows of a timeline are left out. By names, so that it applies to other traces too.
struct TrackFilter {
  std::set<std::string> resources = {};  ///< "h2d", "nvme": of every owner
  std::set<std::string> counters = {};   ///< "memory", "rate"
  std::set<std::string> owners = {};     ///< "rank 0", "node": with their counters

  bool operator==(const TrackFilter&) const = default;
};

/// The names that a filter can leave out of a trace, in the order of its rows.
struct TrackNames {
  std::vector<std::string> resources, counters, owners;
};
TrackNames track_names(const Trace& trace);

/// Which rows of a trace are shown; an empty list: all.
struct ShownTracks {
  std::vector<char> tracks, counters;

  bool track(std::size_t index) const { return tracks.empty() || tracks[index]; }
  bool counter(std::size_t index) const { return counters.empty() || counters[index]; }
  /// How many rows are left out.
  std::size_t hidden() const;
};
ShownTracks shown_tracks(const Trace& trace, const TrackFilter& filter);

}  // namespace spillway::gui
