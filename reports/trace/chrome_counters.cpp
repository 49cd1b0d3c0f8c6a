#include "reports/trace/chrome_counters.hpp"

#include "reports/trace/trace_tracks.hpp"

#include <cmath>
#include <utility>

namespace spillway::reports {

using result::Trace;
using result::TraceBuffer;
using result::TraceSpan;

namespace {

/// What changes when becomes what is when.
void sum_up(Counter& counter) {
  std::int64_t now = 0;
  for (auto& [at, value] : counter.values) value = now += value;
}

std::string titled(const std::string& run, const std::string& name) {
  return run.empty() ? name : run + " " + name;
}

/// The times in which at least one of some intervals is.
void add_union(Counter& counter, std::map<std::int64_t, std::int64_t>& users) {
  std::int64_t now = 0;
  for (const auto& [at, by] : users) {
    const std::int64_t before = std::exchange(now, now + by);
    if ((before > 0) != (now > 0)) counter.values[at] += now > 0 ? 1 : -1;
  }
}

}  // namespace

std::vector<Counter> memory_counters(const Trace& trace) {
  std::map<std::pair<std::string, std::string>, Counter> by_name;
  for (const TraceBuffer& buffer : trace.buffers) {
    Counter& counter = by_name[{buffer.run + buffer.tier, buffer.purpose}];
    counter.name = titled(buffer.run, buffer.tier + " " + buffer.purpose);
    const auto bytes = static_cast<std::int64_t>(buffer.charged_bytes);
    counter.values[nanoseconds(buffer.born_s)] += bytes;
    if (buffer.freed_s) counter.values[nanoseconds(*buffer.freed_s)] -= bytes;
  }
  std::vector<Counter> counters;
  for (auto& [name, counter] : by_name) {
    sum_up(counter);
    counters.push_back(std::move(counter));
  }
  return counters;
}

std::vector<Counter> work_counters(const Trace& trace) {
  std::map<std::string, Counter> rates, busy;
  std::map<std::string, std::map<std::string, std::map<std::int64_t, std::int64_t>>> gpus;
  for (const TraceSpan& span : trace.spans) {
    if (span.operation == 0 || span.end_s <= span.start_s) continue;
    const Interval when = interval_of(span);
    if (span.track.ends_with(" compute") || span.track.ends_with(" side")) {
      auto& users = gpus[span.run][span.track.substr(0, span.track.rfind(' '))];
      ++users[when.start];
      --users[when.end];
    }
    if (span.bytes == 0) continue;
    const double bytes_per_s = static_cast<double>(span.bytes) / (span.end_s - span.start_s);
    Counter& rate = rates[span.run + span.track];
    rate.name = titled(span.run, span.track + " rate");
    rate.unit = "bytes_per_s";
    rate.values[when.start] += std::llround(bytes_per_s);
    rate.values[when.end] -= std::llround(bytes_per_s);
  }
  std::vector<Counter> counters;
  for (auto& [run, ranks] : gpus) {
    Counter counter{titled(run, "GPUs busy"), "gpus", {}};
    for (auto& [rank, users] : ranks) add_union(counter, users);
    counters.push_back(std::move(counter));
  }
  for (auto& [name, counter] : rates) counters.push_back(std::move(counter));
  for (Counter& counter : counters) sum_up(counter);
  return counters;
}

}  // namespace spillway::reports
