#include "gui/model/trace_words.hpp"

#include "reports/words/human.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <map>

namespace spillway::gui {

namespace {

std::string time_words(Instant time) { return reports::human_time(seconds(time)); }

bool holds(const std::string& text, const std::string& lower) {
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(),
                     [](unsigned char a, unsigned char b) { return std::tolower(a) == b; }) !=
         text.end();
}

/// The slices of one lane that lie partly in [from, to).
std::pair<std::size_t, std::size_t> inside(const Lane& lane, Instant from, Instant to) {
  const std::size_t first = lane.first_after(from);
  std::size_t last = first;
  last = static_cast<std::size_t>(
      std::partition_point(lane.slices.begin() + static_cast<std::ptrdiff_t>(first),
                           lane.slices.end(), [to](const Slice& s) { return s.start < to; }) -
      lane.slices.begin());
  return {first, last};
}

/// Calls `each` with the place of every slice that is shown.
template <class Each>
void for_each_place(const Trace& trace, const ShownTracks& shown, const Each& each) {
  for (std::uint32_t track = 0; track < trace.tracks.size(); ++track)
    for (std::uint32_t lane = 0; shown.track(track) && lane < trace.tracks[track].lanes.size();
         ++lane)
      for (std::uint32_t i = 0; i < trace.tracks[track].lanes[lane].slices.size(); ++i)
        each(SliceAt{track, lane, i});
}

}  // namespace

bool is_overview(const Track& track) { return track.name == "steps" || track.name == "phases"; }

std::optional<SliceAt> cause_of(const Trace& trace, const SliceAt& place) {
  const Instant start = trace.at(place).start;
  std::optional<SliceAt> best;
  for (std::uint32_t track = 0; track < trace.tracks.size(); ++track) {
    if (is_overview(trace.tracks[track])) continue;
    for (std::uint32_t lane = 0; lane < trace.tracks[track].lanes.size(); ++lane) {
      if (track == place.track && lane == place.lane) continue;
      const Lane& one = trace.tracks[track].lanes[lane];
      const std::size_t after = one.first_after(start);
      if (after == 0) continue;
      const SliceAt at{track, lane, static_cast<std::uint32_t>(after - 1)};
      const Slice& slice = trace.at(at);
      // instants are rounded to nanoseconds on both sides
      if (slice.end < start - 1 || slice.length() == 0) continue;
      if (!best || slice.length() > trace.at(*best).length()) best = at;
    }
  }
  return best;
}

Instant idle_before(const Trace& trace, const SliceAt& place) {
  const Track& track = trace.track_of(place);
  const Instant start = trace.at(place).start;
  Instant last = trace.begin;
  for (const Lane& lane : track.lanes) {
    const std::size_t after = lane.first_after(start);
    if (after > 0) last = std::max(last, lane.slices[after - 1].end);
    if (after < lane.slices.size() && lane.slices[after].start < start) return 0;
  }
  return std::max<Instant>(0, start - last);
}

std::vector<std::string> words_of(const Trace& trace, const SliceAt& place) {
  const Slice& slice = trace.at(place);
  std::vector<std::string> words = {trace.name_of(place)};
  const std::string phase = trace.names[slice.phase];
  words.push_back((phase.empty() || phase == "none" ? "" : phase + ", ") +
                  trace.track_of(place).title());
  words.push_back(
      fmt::format("{} from {:.6g} s on", time_words(slice.length()), seconds(slice.start)));
  if (slice.bytes > 0) {
    const double bytes = static_cast<double>(slice.bytes);
    std::string text = reports::human_bytes(bytes);
    if (slice.length() > 0) text += " at " + reports::human_rate(bytes / seconds(slice.length()));
    words.push_back(text);
  }
  if (is_overview(trace.track_of(place))) return words;
  const Instant idle = idle_before(trace, place);
  const auto cause = cause_of(trace, place);
  if (cause && cause->track != place.track)
    words.push_back(fmt::format("begins when {} on {} ends{}", trace.name_of(*cause),
                                trace.track_of(*cause).title(),
                                idle > 0 ? ", after " + time_words(idle) + " idle" : ""));
  else if (idle > 0)
    words.push_back("after " + time_words(idle) + " idle");
  return words;
}

std::string kind_of(const std::string& name) {
  std::string kind;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(name[i])) != 0;
    const bool begins_word = i == 0 || !std::isalnum(static_cast<unsigned char>(name[i - 1]));
    if (!digit || !begins_word) {
      kind += name[i];
      continue;
    }
    std::size_t end = i;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) ++end;
    const bool whole_word =
        end == name.size() || !std::isalnum(static_cast<unsigned char>(name[end]));
    kind += whole_word ? "*" : name.substr(i, end - i);
    i = end - 1;
  }
  return kind;
}

std::optional<SliceAt> find_slice(const Trace& trace, const std::string& text,
                                  const std::optional<SliceAt>& from, bool backwards,
                                  const ShownTracks& shown) {
  if (text.empty()) return std::nullopt;
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::vector<char> hit(trace.names.size());
  for (std::size_t i = 0; i < trace.names.size(); ++i) hit[i] = holds(trace.names[i], lower);
  const auto key = [&](const SliceAt& at) {
    return std::make_tuple(trace.at(at).start, at.track, at.lane, at.slice);
  };
  std::optional<SliceAt> next, around;
  for_each_place(trace, shown, [&](const SliceAt& at) {
    if (!hit[trace.at(at).name]) return;
    const auto earlier = [&](const SliceAt& a, const SliceAt& b) {
      return backwards ? key(b) < key(a) : key(a) < key(b);
    };
    if (!around || earlier(at, *around)) around = at;
    if ((!from || earlier(*from, at)) && (!next || earlier(at, *next))) next = at;
  });
  return next ? next : around;
}

std::optional<SliceAt> slice_near(const Trace& trace, std::uint32_t track, std::uint32_t lane,
                                  Instant at, Instant reach) {
  if (track >= trace.tracks.size() || lane >= trace.tracks[track].lanes.size()) return std::nullopt;
  const Lane& one = trace.tracks[track].lanes[lane];
  const std::size_t i = one.first_after(at);
  const auto place = [&](std::size_t index) {
    return SliceAt{track, lane, static_cast<std::uint32_t>(index)};
  };
  if (i < one.slices.size() && one.slices[i].start <= at) return place(i);
  if (i < one.slices.size() && one.slices[i].start - at <= reach) return place(i);
  if (i > 0 && at - one.slices[i - 1].end <= reach) return place(i - 1);
  return std::nullopt;
}

std::vector<AreaRow> area_rows(const Trace& trace, Instant from, Instant to,
                               const ShownTracks& shown) {
  std::vector<AreaRow> rows;
  std::vector<std::string> kinds(trace.names.size());
  for (std::size_t index = 0; index < trace.tracks.size(); ++index) {
    const Track& track = trace.tracks[index];
    if (is_overview(track) || !shown.track(index)) continue;
    std::map<std::string, AreaRow> by_kind;
    for (const Lane& lane : track.lanes) {
      const auto [first, last] = inside(lane, from, to);
      for (std::size_t i = first; i < last; ++i) {
        const Slice& slice = lane.slices[i];
        std::string& kind = kinds[slice.name];
        if (kind.empty()) kind = kind_of(trace.names[slice.name]);
        AreaRow& row = by_kind[kind];
        ++row.count;
        row.bytes += slice.bytes;
        row.time += std::min(slice.end, to) - std::max(slice.start, from);
      }
    }
    for (auto& [kind, row] : by_kind) {
      row.track = track.title();
      row.kind = kind;
      rows.push_back(std::move(row));
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const AreaRow& a, const AreaRow& b) { return a.time > b.time; });
  return rows;
}

std::pair<Instant, Instant> steady_step(const Trace& trace) {
  for (const Track& track : trace.tracks)
    if (track.name == "steps" && !track.lanes.empty() && !track.lanes[0].slices.empty()) {
      const Slice& last = track.lanes[0].slices.back();
      return {last.start, last.end};
    }
  return {trace.begin, trace.end};
}

}  // namespace spillway::gui
