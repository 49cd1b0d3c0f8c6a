#include "gui/model/trace.hpp"

#include "reports/trace/trace_lanes.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <tuple>

namespace spillway::gui {

namespace {

/// Of several slices one after another that begin at 0: the sums of their lengths, 0 first.
std::vector<Instant> sums(const std::vector<Slice>& slices) {
  std::vector<Instant> busy(slices.size() + 1, 0);
  for (std::size_t i = 0; i < slices.size(); ++i) busy[i + 1] = busy[i] + slices[i].length();
  return busy;
}

/// "h2d (3)" -> "h2d": exporters write what overlaps into threads of its own.
std::string without_number(const std::string& name) {
  if (name.empty() || name.back() != ')') return name;
  const std::size_t open = name.rfind(" (");
  if (open == std::string::npos || open + 3 > name.size()) return name;
  const bool digits =
      std::all_of(name.begin() + static_cast<std::ptrdiff_t>(open) + 2, name.end() - 1,
                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return digits && open + 3 < name.size() ? name.substr(0, open) : name;
}

void add_depths(Track& track) {
  std::vector<std::pair<Instant, int>> edges;
  for (const Lane& lane : track.lanes)
    for (const Slice& slice : lane.slices) {
      if (slice.length() == 0) continue;
      edges.push_back({slice.start, 1});
      edges.push_back({slice.end, -1});
    }
  std::sort(edges.begin(), edges.end());
  std::int64_t open = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    open += edges[i].second;
    if (i + 1 < edges.size() && edges[i + 1].first == edges[i].first) continue;
    track.depths.push_back({edges[i].first, static_cast<std::uint32_t>(open)});
    track.most_open = std::max(track.most_open, static_cast<std::uint32_t>(open));
  }
  track.busy_before.assign(track.depths.size(), 0);
  for (std::size_t i = 1; i < track.depths.size(); ++i)
    track.busy_before[i] =
        track.busy_before[i - 1] +
        (track.depths[i - 1].open > 0 ? track.depths[i].at - track.depths[i - 1].at : 0);
  track.busy = track.busy_before.empty() ? 0 : track.busy_before.back();
}

/// Time up to `at` with at least one slice open.
Instant busy_until(const Track& track, Instant at) {
  const auto after =
      std::upper_bound(track.depths.begin(), track.depths.end(), at,
                       [](Instant when, const Depth& depth) { return when < depth.at; });
  if (after == track.depths.begin()) return 0;
  const std::size_t i = static_cast<std::size_t>(after - track.depths.begin()) - 1;
  return track.busy_before[i] + (track.depths[i].open > 0 ? at - track.depths[i].at : 0);
}

/// Ranks by number, then the node; the compute stream, copies, then the rest by name.
auto order_of(const Track& track) {
  static constexpr const char* first[] = {"steps", "phases", "compute", "side",
                                          "h2d",   "d2h",    "cpu"};
  const auto* known = std::find(std::begin(first), std::end(first), track.name);
  const bool overview = known - std::begin(first) < 2;
  const bool of_rank = track.process.find("rank ") != std::string::npos;
  return std::make_tuple(!overview, !of_rank, track.process.size(), track.process,
                         known - std::begin(first), track.name);
}

std::vector<Lane> lanes_of(std::vector<Slice> slices) {
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return std::tie(a.start, a.end, a.name) < std::tie(b.start, b.end, b.name);
  });
  std::vector<reports::Interval> intervals;
  intervals.reserve(slices.size());
  for (const Slice& slice : slices) intervals.push_back({slice.start, slice.end});
  const std::vector<std::size_t> lane = reports::lanes(intervals);
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (lane[i] >= lanes.size()) lanes.resize(lane[i] + 1);
    lanes[lane[i]].slices.push_back(slices[i]);
  }
  for (Lane& one : lanes) one.busy = sums(one.slices);
  return lanes;
}

/// Sums of all series at every instant at which one of them changes, and its peak.
void add_total(Counter& counter) {
  std::vector<std::tuple<Instant, std::size_t, std::uint64_t>> changes;
  for (std::size_t i = 0; i < counter.series.size(); ++i)
    for (const Sample& sample : counter.series[i].samples)
      changes.emplace_back(sample.at, i, sample.value);
  std::sort(changes.begin(), changes.end());
  std::vector<std::uint64_t> now(counter.series.size(), 0);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto& [at, which, value] = changes[i];
    sum += value - now[which];
    now[which] = value;
    if (i + 1 < changes.size() && std::get<0>(changes[i + 1]) == at) continue;
    counter.total.samples.push_back({at, sum});
    if (sum > counter.total.peak || counter.total.samples.size() == 1) {
      counter.total.peak = sum;
      counter.peak_at = at;
    }
  }
}

using ThreadId = std::pair<std::int64_t, std::int64_t>;

/// Slices by thread and by one of their ends.
class Edges {
 public:
  void add(const ThreadId& thread, Instant at, const Slice& slice) {
    all_.push_back({thread, at, &slice});
  }
  void sort() {
    std::stable_sort(all_.begin(), all_.end(), [](const Edge& a, const Edge& b) {
      return std::tie(a.thread, a.at) < std::tie(b.thread, b.at);
    });
  }
  /// The slice of the thread whose end is at that instant; nullptr without one.
  const Slice* at(const ThreadId& thread, Instant at) const {
    const auto found = first_from(thread, at);
    return found != all_.end() && found->thread == thread && found->at == at ? found->slice
                                                                             : nullptr;
  }
  /// Of slices by their starts the last that began before `at`, if it is open then.
  const Slice* open_at(const ThreadId& thread, Instant at) const {
    const auto after = first_from(thread, at);
    if (after == all_.begin()) return nullptr;
    const Edge& before = *std::prev(after);
    return before.thread == thread && before.slice->end >= at ? before.slice : nullptr;
  }

 private:
  struct Edge {
    ThreadId thread;
    Instant at;
    const Slice* slice;
  };

  std::vector<Edge>::const_iterator first_from(const ThreadId& thread, Instant at) const {
    return std::partition_point(all_.begin(), all_.end(), [&](const Edge& edge) {
      return std::tie(edge.thread, edge.at) < std::tie(thread, at);
    });
  }

  std::vector<Edge> all_;
};

/// Where a slice went among the lanes of its track.
std::optional<SliceAt> place_of(const Trace& trace, std::uint32_t track, const Slice& slice) {
  const std::vector<Lane>& lanes = trace.tracks[track].lanes;
  for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
    const std::vector<Slice>& all = lanes[lane].slices;
    auto at = std::partition_point(all.begin(), all.end(),
                                   [&](const Slice& one) { return one.start < slice.start; });
    for (; at != all.end() && at->start == slice.start; ++at)
      if (at->end == slice.end && at->name == slice.name)
        return SliceAt{track, lane, static_cast<std::uint32_t>(at - all.begin())};
  }
  return std::nullopt;
}

}  // namespace

std::size_t Lane::first_after(Instant at) const {
  return static_cast<std::size_t>(
      std::partition_point(slices.begin(), slices.end(),
                           [at](const Slice& slice) { return slice.end <= at; }) -
      slices.begin());
}

Instant Lane::covered(Instant from, Instant to) const {
  const std::size_t first = first_after(from);
  const std::size_t last = static_cast<std::size_t>(
      std::partition_point(slices.begin() + static_cast<std::ptrdiff_t>(first), slices.end(),
                           [to](const Slice& slice) { return slice.start < to; }) -
      slices.begin());
  if (first >= last) return 0;
  const Instant before = std::max<Instant>(0, from - slices[first].start);
  const Instant behind = std::max<Instant>(0, slices[last - 1].end - to);
  return busy[last] - busy[first] - before - behind;
}

std::size_t Track::size() const {
  std::size_t all = 0;
  for (const Lane& lane : lanes) all += lane.slices.size();
  return all;
}

Instant Track::covered(Instant from, Instant to) const {
  return busy_until(*this, to) - busy_until(*this, from);
}

std::uint64_t Series::at(Instant when) const {
  const auto after =
      std::upper_bound(samples.begin(), samples.end(), when,
                       [](Instant at, const Sample& sample) { return at < sample.at; });
  return after == samples.begin() ? 0 : std::prev(after)->value;
}

Sample Series::most(Instant from, Instant to) const {
  Sample largest{from, at(from)};
  for (auto one =
           std::upper_bound(samples.begin(), samples.end(), from,
                            [](Instant when, const Sample&sample) { return when < sample.at; });
       one != samples.end() && one->at < to; ++one)
    if (one->value > largest.value) largest = *one;
  return largest;
}

void count_from(Trace& trace, Instant zero) {
  const auto move_samples = [zero](Series& series) {
    for (Sample& sample : series.samples) sample.at -= zero;
  };
  trace.begin -= zero;
  trace.end -= zero;
  for (Track& track : trace.tracks) {
    for (Depth& depth : track.depths) depth.at -= zero;
    for (Lane& lane : track.lanes)
      for (Slice& slice : lane.slices) {
        slice.start -= zero;
        slice.end -= zero;
      }
  }
  for (Counter& counter : trace.counters) {
    counter.peak_at -= zero;
    move_samples(counter.total);
    for (Series& series : counter.series) move_samples(series);
  }
}

void put_capacities(Trace& trace, std::uint64_t gpu_bytes, std::uint64_t host_bytes) {
  for (Counter& counter : trace.counters) {
    if (counter.unit != "bytes" || !counter.name.ends_with(" memory")) continue;
    if (counter.name.starts_with("gpu ")) counter.capacity = gpu_bytes;
    if (counter.name.starts_with("host")) counter.capacity = host_bytes;
  }
}

std::uint32_t TraceBuilder::number_of(const std::string& name) {
  const auto [found, is_new] =
      numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return found->second;
}

void TraceBuilder::process_name(std::int64_t process, const std::string& name) {
  processes_[process] = name;
}

void TraceBuilder::thread_name(std::int64_t process, std::int64_t thread, const std::string& name) {
  threads_[{process, thread}] = name;
}

void TraceBuilder::slice(std::int64_t process, std::int64_t thread, const std::string& name,
                         const std::string& phase, Instant start, Instant end,
                         std::uint64_t bytes) {
  slices_.push_back(
      {{process, thread}, {start, std::max(start, end), bytes, number_of(name), number_of(phase)}});
}

void TraceBuilder::sample(const std::string& counter, const std::string& series, Instant at,
                          std::uint64_t value) {
  samples_[counter][series].push_back({at, value});
}

void TraceBuilder::flow_end(const std::string& id, bool starts, std::int64_t process,
                            std::int64_t thread, Instant at) {
  FlowEnds& ends = flows_[id];
  (starts ? ends.from : ends.to).push_back({{process, thread}, at});
}

TraceBuilder::TrackName TraceBuilder::track_of(const ThreadId& thread) const {
  const auto process = processes_.find(thread.first);
  const auto named = threads_.find(thread);
  return {process == processes_.end() ? "process " + std::to_string(thread.first) : process->second,
          named == threads_.end() ? "thread " + std::to_string(thread.second)
                                  : without_number(named->second)};
}

void TraceBuilder::add_tracks(Trace& trace) {
  std::map<ThreadId, TrackName> known;
  std::map<TrackName, std::vector<Slice>> by_track;
  for (const Raw& raw : slices_) {
    auto found = known.find(raw.thread);
    if (found == known.end()) found = known.emplace(raw.thread, track_of(raw.thread)).first;
    by_track[found->second].push_back(raw.slice);
  }
  for (auto& [name, slices] : by_track) {
    Track track{name.first, name.second, lanes_of(std::move(slices)), {}, 0, 0, {}};
    add_depths(track);
    trace.tracks.push_back(std::move(track));
  }
  std::stable_sort(trace.tracks.begin(), trace.tracks.end(),
                   [](const Track& a, const Track& b) { return order_of(a) < order_of(b); });
}

/// "gpu 0 weights" and "gpu 0 gradients" become series of "gpu 0 memory".
void TraceBuilder::join_counters() {
  constexpr std::string_view ending = " memory";
  std::vector<std::string> wholes;
  for (const auto& [name, series] : samples_)
    if (name.ends_with(ending)) wholes.push_back(name);
  for (const std::string& whole : wholes) {
    const std::string start = whole.substr(0, whole.size() - ending.size()) + " ";
    std::map<std::string, std::vector<Sample>> parts;
    for (auto it = samples_.lower_bound(start);
         it != samples_.end() && it->first.starts_with(start);) {
      if (it->first == whole || it->second.size() != 1 || !it->second.contains("bytes")) {
        ++it;
        continue;
      }
      parts[it->first.substr(start.size())] = std::move(it->second.begin()->second);
      it = samples_.erase(it);
    }
    if (!parts.empty()) samples_[whole] = std::move(parts);
  }
}

void TraceBuilder::add_counters(Trace& trace) {
  join_counters();
  for (auto& [name, by_series] : samples_) {
    Counter counter;
    counter.name = name;
    for (const char* unit : {"bytes_per_s", "gpus"})
      if (by_series.contains(unit)) counter.unit = unit;
    for (auto& [series_name, samples] : by_series) {
      std::stable_sort(samples.begin(), samples.end(),
                       [](const Sample& a, const Sample& b) { return a.at < b.at; });
      Series series{series_name, std::move(samples), 0};
      for (const Sample& one : series.samples) series.peak = std::max(series.peak, one.value);
      counter.series.push_back(std::move(series));
    }
    std::stable_sort(counter.series.begin(), counter.series.end(),
                     [](const Series& a, const Series& b) { return a.peak > b.peak; });
    add_total(counter);
    trace.counters.push_back(std::move(counter));
  }
  std::stable_partition(trace.counters.begin(), trace.counters.end(),
                        [](const Counter& counter) { return counter.unit == "bytes"; });
}

void TraceBuilder::add_flows(Trace& trace) {
  if (flows_.empty()) return;
  std::map<TrackName, std::uint32_t> by_name;
  for (std::uint32_t i = 0; i < trace.tracks.size(); ++i)
    by_name[{trace.tracks[i].process, trace.tracks[i].name}] = i;
  Edges begins, ends;
  for (const Raw& raw : slices_) {
    begins.add(raw.thread, raw.slice.start, raw.slice);
    ends.add(raw.thread, raw.slice.end, raw.slice);
  }
  begins.sort();
  ends.sort();
  // one leaves where its operation ends, and arrives where it begins: operations of a thread touch
  const auto place = [&](const FlowEnd& end, const Edges& edges) -> std::optional<SliceAt> {
    const Slice* slice = edges.at(end.first, end.second);
    if (!slice) slice = begins.open_at(end.first, end.second);
    const auto track = by_name.find(track_of(end.first));
    if (!slice || track == by_name.end()) return std::nullopt;
    return place_of(trace, track->second, *slice);
  };
  for (const auto& [id, both] : flows_)
    for (const auto& from : both.from)
      for (const auto& to : both.to) {
        const auto a = place(from, ends), b = place(to, begins);
        if (a && b) trace.flows.push_back({*a, *b});
      }
}

Trace TraceBuilder::finish() {
  Trace trace;
  trace.slices = slices_.size();
  add_tracks(trace);
  add_counters(trace);
  trace.names = std::move(names_);
  add_flows(trace);
  bool any = false;
  const auto reach = [&](Instant from, Instant to) {
    trace.begin = any ? std::min(trace.begin, from) : from;
    trace.end = any ? std::max(trace.end, to) : to;
    any = true;
  };
  for (const Raw& raw : slices_) reach(raw.slice.start, raw.slice.end);
  if (!any)
    for (const Counter& counter : trace.counters)
      for (const Sample& one : counter.total.samples) reach(one.at, one.at);
  *this = TraceBuilder();
  return trace;
}

}  // namespace spillway::gui
