#include "reports/chrome_trace.hpp"

#include "reports/trace_lanes.hpp"
#include "scenarios/description/errors.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace spillway::reports {

using result::Trace;
using result::TraceSample;
using result::TraceSpan;

namespace {

std::string quoted(const std::string& text) {
  using nlohmann::json;
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::int64_t nanoseconds(double seconds) {
  ENSURE(std::abs(seconds) < 9e9, "trace: a time that is not finite or over 285 years");
  return std::llround(seconds * 1e9);
}

/// 1234567 -> "1234.567".
std::string microseconds(std::int64_t ns) {
  const std::int64_t whole = std::abs(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", whole / 1000, whole % 1000);
}

/// Where a track belongs: "rank 3 h2d" is "h2d" of rank 3, "nvme" is "nvme" of the node.
struct Place {
  std::string run;  ///< "" where there is but one
  bool of_rank = false;
  std::uint64_t rank = 0;
  std::string thread;

  /// Ranks by number, then the node; the compute stream, copies, then the rest by name.
  auto order() const {
    const auto known = std::find(std::begin(first_threads), std::end(first_threads), thread);
    return std::make_tuple(run, !of_rank, rank, known - std::begin(first_threads), thread);
  }
  std::string process() const {
    return (run.empty() ? "" : run + " ") + (of_rank ? fmt::format("rank {}", rank) : "node");
  }

  static constexpr std::string_view first_threads[] = {"steps", "phases", "compute",
                                                       "side",  "h2d",    "d2h"};
};

Place place_of(const std::string& run, const std::string& track) {
  constexpr std::string_view prefix = "rank ";
  const Place shared{run, false, 0, track};
  if (!track.starts_with(prefix)) return shared;
  const std::size_t end = track.find_first_not_of("0123456789", prefix.size());
  const bool numbered = end != std::string::npos && end > prefix.size() &&
                        end - prefix.size() < 10 && track[end] == ' ' && end + 1 < track.size();
  if (!numbered) return shared;
  return {run, true, std::stoull(track.substr(prefix.size(), end - prefix.size())),
          track.substr(end + 1)};
}

/// The spans of one track, in the order in which they are written.
struct Track {
  Place place;
  std::vector<const TraceSpan*> spans;
};

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

/// The text of the trace: events with commas between them. Numbers processes and threads from 1.
class Writer {
 public:
  explicit Writer(std::ostream& out) : out_(out) {
    out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  }
  void finish() { out_ << "\n]}\n"; }

  void process(const std::string& name) {
    ++process_;
    event(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})",
                      process_, quoted(name)));
    event(fmt::format(
        R"({{"ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}}}})",
        process_));
  }

  int thread(const std::string& name) {
    ++thread_;
    event(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
                      process_, thread_, quoted(name)));
    event(fmt::format(R"({{"ph":"M","pid":{0},"tid":{1},"name":"thread_sort_index",)"
                      R"("args":{{"sort_index":{1}}}}})",
                      process_, thread_));
    return thread_;
  }

  void bar(int thread, const TraceSpan& span, const Interval& when) {
    event(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":{},)"
                      R"("args":{{"bytes":{}}}}})",
                      process_, thread, microseconds(when.start),
                      microseconds(when.end - when.start), quoted(span.name),
                      quoted(span.phase.empty() ? "none" : span.phase), span.bytes));
  }

  void counter(const TraceSample& sample) {
    event(fmt::format(R"({{"ph":"C","pid":{},"ts":{},"name":{},"args":{{"bytes":{}}}}})", process_,
                      microseconds(nanoseconds(sample.at_s)), quoted(sample.counter),
                      sample.bytes));
  }

 private:
  void event(const std::string& json) {
    out_ << (std::exchange(first_, false) ? "\n" : ",\n") << json;
  }

  std::ostream& out_;
  bool first_ = true;
  int process_ = 0;
  int thread_ = 0;
};

void write_track(Writer& writer, const Track& track) {
  std::vector<Interval> intervals;
  for (const TraceSpan* span : track.spans) intervals.push_back(interval_of(*span));
  const std::vector<std::size_t> lane = lanes(intervals);
  std::vector<int> threads;
  for (std::size_t i = 0; i <= *std::max_element(lane.begin(), lane.end()); ++i)
    threads.push_back(writer.thread(i == 0 ? track.place.thread
                                           : fmt::format("{} ({})", track.place.thread, i + 1)));
  for (std::size_t i = 0; i < track.spans.size(); ++i)
    writer.bar(threads[lane[i]], *track.spans[i], intervals[i]);
}

void write_counters(Writer& writer, const Trace& trace) {
  if (trace.samples.empty()) return;
  std::vector<const TraceSample*> samples;
  for (const TraceSample& sample : trace.samples) samples.push_back(&sample);
  std::stable_sort(samples.begin(), samples.end(), [](const TraceSample* a, const TraceSample* b) {
    return std::tie(a->counter, a->at_s) < std::tie(b->counter, b->at_s);
  });
  writer.process("memory");
  for (const TraceSample* sample : samples) writer.counter(*sample);
}

}  // namespace

void write_chrome_trace(std::ostream& out, const Trace& trace) {
  Writer writer(out);
  std::string process;
  for (const Track& track : tracks_of(trace)) {
    if (track.place.process() != process) writer.process(process = track.place.process());
    write_track(writer, track);
  }
  write_counters(writer, trace);
  writer.finish();
}

}  // namespace spillway::reports
