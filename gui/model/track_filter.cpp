#include "gui/model/track_filter.hpp"

#include <algorithm>

namespace spillway::gui {

namespace {

/// "memory" of "gpu 0 memory": the last word; of one GPU counter for all, its whole name.
std::string kind_of_counter(const Counter& counter) {
  const std::size_t space = counter.name.rfind(' ');
  if (counter.unit == "gpus" || space == std::string::npos) return counter.name;
  return counter.name.substr(space + 1);
}

/// "h2d" of "rank 0 h2d rate"; "" of a counter that no resource has.
std::string resource_of(const Counter& counter) {
  if (counter.unit != "bytes_per_s" || !counter.name.ends_with(" rate")) return "";
  const std::string whole = counter.name.substr(0, counter.name.size() - 5);
  return whole.substr(whole.rfind(' ') + 1);  // npos + 1 is 0
}

/// The process that a counter belongs to, which only its name says: "rank 0" of "gpu 0 memory" and
/// of "rank 0 h2d rate", "measured node" of "measured host memory".
std::string owner_of(const Counter& counter, const std::vector<std::string>& owners) {
  std::string name = counter.name;
  if (const std::size_t at = name.find("gpu "); at != std::string::npos)
    name.replace(at, 4, "rank ");
  for (const std::string& owner : owners)
    if (name.starts_with(owner + " ")) return owner;
  for (const std::string& owner : owners)
    if (owner.ends_with("node") && name.starts_with(owner.substr(0, owner.size() - 4)))
      return owner;
  return "";
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

TrackNames track_names(const Trace& trace) {
  TrackNames names;
  for (const Track& track : trace.tracks) {
    add_once(names.resources, track.name);
    add_once(names.owners, track.process);
  }
  for (const Counter& counter : trace.counters) add_once(names.counters, kind_of_counter(counter));
  return names;
}

std::size_t ShownTracks::hidden() const {
  return static_cast<std::size_t>(std::count(tracks.begin(), tracks.end(), 0) +
                                  std::count(counters.begin(), counters.end(), 0));
}

ShownTracks shown_tracks(const Trace& trace, const TrackFilter& filter) {
  ShownTracks shown;
  if (filter == TrackFilter()) return shown;
  for (const Track& track : trace.tracks)
    shown.tracks.push_back(!filter.resources.contains(track.name) &&
                           !filter.owners.contains(track.process));
  const std::vector<std::string> owners = track_names(trace).owners;
  for (const Counter& counter : trace.counters)
    shown.counters.push_back(!filter.counters.contains(kind_of_counter(counter)) &&
                             !filter.resources.contains(resource_of(counter)) &&
                             !filter.owners.contains(owner_of(counter, owners)));
  return shown;
}

}  // namespace spillway::gui
