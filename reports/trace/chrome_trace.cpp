#include "reports/trace/chrome_trace.hpp"

#include "reports/trace/chrome_counters.hpp"
#include "reports/trace/trace_tracks.hpp"

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

/// 1234567 -> "1234.567".
std::string microseconds(std::int64_t ns) {
  const std::int64_t whole = std::abs(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", whole / 1000, whole % 1000);
}

/// Where a bar stands.
struct Spot {
  int process = 0, thread = 0;
  Interval when;
};

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

  /// An arrow from the end of one bar to the start of another.
  void flow(std::uint64_t id, const Spot& from, const Spot& to) {
    event(
        fmt::format(R"({{"ph":"s","id":{},"pid":{},"tid":{},"ts":{},"name":"data","cat":"data"}})",
                    id, from.process, from.thread, microseconds(from.when.end)));
    event(fmt::format(R"({{"ph":"f","bp":"e","id":{},"pid":{},"tid":{},"ts":{},"name":"data",)"
                      R"("cat":"data"}})",
                      id, to.process, to.thread, microseconds(to.when.start)));
  }
  int process_number() const { return process_; }

  void counter(const Counter& counter) {
    for (const auto& [at, value] : counter.values)
      event(fmt::format(R"({{"ph":"C","pid":{},"ts":{},"name":{},"args":{{"{}":{}}}}})", process_,
                        microseconds(at), quoted(counter.name), counter.unit, value));
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

/// Arrows from what wrote data to what loads them.
class Flows {
 public:
  void add(const TraceSpan& span, const Spot& spot) {
    if (span.operation == 0) return;
    spots_.emplace(span.operation, spot);
    const bool loads = span.track.ends_with(" h2d") || span.name.starts_with("read ");
    if (loads && span.from > 0) loads_.emplace_back(span.from, spot);
  }
  void write(Writer& writer) const {
    std::uint64_t id = 0;
    for (const auto& [from, spot] : loads_)
      if (const auto source = spots_.find(from); source != spots_.end())
        writer.flow(++id, source->second, spot);
  }

 private:
  std::map<std::uint64_t, Spot> spots_;  ///< the first bar of each operation
  std::vector<std::pair<std::uint64_t, Spot>> loads_;
};

void write_track(Writer& writer, const Track& track, Flows& flows) {
  const Split found = split(track);
  std::vector<int> threads;
  for (std::size_t i = 0; i < found.lanes; ++i)
    threads.push_back(writer.thread(lane_title(track.place, i)));
  for (std::size_t i = 0; i < track.spans.size(); ++i) {
    const int thread = threads[found.lane[i]];
    writer.bar(thread, *track.spans[i], found.intervals[i]);
    flows.add(*track.spans[i], {writer.process_number(), thread, found.intervals[i]});
  }
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
  for (const Counter& counter : memory_counters(trace)) writer.counter(counter);
}

void write_work(Writer& writer, const Trace& trace) {
  const std::vector<Counter> counters = work_counters(trace);
  if (!counters.empty()) writer.process("rates");
  for (const Counter& counter : counters) writer.counter(counter);
}

}  // namespace

void write_chrome_trace(std::ostream& out, const Trace& trace) {
  Writer writer(out);
  std::string process;
  Flows flows;
  for (const Track& track : tracks_of(trace)) {
    if (track.place.process() != process) writer.process(process = track.place.process());
    write_track(writer, track, flows);
  }
  flows.write(writer);
  write_counters(writer, trace);
  write_work(writer, trace);
  writer.finish();
}

}  // namespace spillway::reports
