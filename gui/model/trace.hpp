#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace spillway::gui {

/// Nanoseconds from the trace's zero.
using Instant = std::int64_t;

inline double seconds(Instant time) { return static_cast<double>(time) * 1e-9; }
inline Instant instant(double seconds) { return static_cast<Instant>(std::llround(seconds * 1e9)); }

/// A bar: an operation on one resource.
struct Slice {
  Instant start = 0, end = 0;
  std::uint64_t bytes = 0;
  std::uint32_t name = 0;   ///< in Trace::names
  std::uint32_t phase = 0;  ///< in Trace::names

  Instant length() const { return end - start; }
};

/// Slices by start, none of which overlap.
struct Lane {
  std::vector<Slice> slices;
  std::vector<Instant> busy;  ///< [slices + 1] time covered by all slices before each

  /// The first that ends after `at`; slices.size() without one.
  std::size_t first_after(Instant at) const;
  /// Time in [from, to) that slices cover.
  Instant covered(Instant from, Instant to) const;
};

/// From `at` on so many slices of a track are open at once.
struct Depth {
  Instant at = 0;
  std::uint32_t open = 0;
};

/// One resource: "compute" of "rank 0", "nvme" of "node".
struct Track {
  std::string process, name;
  std::vector<Lane> lanes;    ///< the first is the fullest
  std::vector<Depth> depths;  ///< by time
  std::uint32_t most_open = 0;
  Instant busy = 0;                  ///< time with at least one slice open
  std::vector<Instant> busy_before;  ///< [depths] time before each with at least one slice open

  std::string title() const { return process.empty() ? name : process + " " + name; }
  std::size_t size() const;
  /// Time in [from, to) with at least one slice open.
  Instant covered(Instant from, Instant to) const;
};

/// From `at` on the series has this value.
struct Sample {
  Instant at = 0;
  std::uint64_t value = 0;
};

/// One colour of a stacked area: the bytes of one purpose.
struct Series {
  std::string name;
  std::vector<Sample> samples;  ///< by time
  std::uint64_t peak = 0;

  std::uint64_t at(Instant when) const;
  /// When it is largest in [from, to), and how large.
  Sample most(Instant from, Instant to) const;
};

/// Something counted over time: "gpu 0 memory", the rate of a link.
struct Counter {
  std::string name;
  std::vector<Series> series;  ///< largest peak first; their sum is the counter
  Series total;
  Instant peak_at = 0;
  std::uint64_t capacity = 0;  ///< 0: not known
  std::string unit = "bytes";  ///< of its values: bytes, bytes_per_s, gpus
};

/// Which slice.
struct SliceAt {
  std::uint32_t track = 0, lane = 0, slice = 0;

  bool operator==(const SliceAt&) const = default;
};

/// From the operation that stores to the one that loads it again.
struct Flow {
  SliceAt from, to;
};

/// What happened when: a run's operations and the bytes in use.
struct Trace {
  std::vector<std::string> names;  ///< of slices and phases
  std::vector<Track> tracks;
  std::vector<Counter> counters;
  std::vector<Flow> flows;
  Instant begin = 0, end = 0;
  std::size_t slices = 0;

  const Slice& at(const SliceAt& place) const {
    return tracks[place.track].lanes[place.lane].slices[place.slice];
  }
  const std::string& name_of(const SliceAt& place) const { return names[at(place).name]; }
  const Track& track_of(const SliceAt& place) const { return tracks[place.track]; }
};

/// Gives counters of memory what the machine has, which traces do not say.
void put_capacities(Trace& trace, std::uint64_t gpu_bytes, std::uint64_t host_bytes);

/// Makes `zero` the instant that all others count from.
void count_from(Trace& trace, Instant zero);

/// Puts a trace together from its events, in any order.
class TraceBuilder {
 public:
  void process_name(std::int64_t process, const std::string& name);
  void thread_name(std::int64_t process, std::int64_t thread, const std::string& name);
  void slice(std::int64_t process, std::int64_t thread, const std::string& name,
             const std::string& phase, Instant start, Instant end, std::uint64_t bytes);
  void sample(const std::string& counter, const std::string& series, Instant at,
              std::uint64_t value);
  /// One end of a flow; both have the same id. It starts where a slice of its thread ends, or is
  /// open, and goes to one that begins there, or is open.
  void flow_end(const std::string& id, bool starts, std::int64_t process, std::int64_t thread,
                Instant at);
  std::size_t slices() const { return slices_.size(); }

  /// Everything so far; the builder is empty afterwards.
  Trace finish();

 private:
  using ThreadId = std::pair<std::int64_t, std::int64_t>;
  struct Raw {
    ThreadId thread;
    Slice slice;
  };
  using FlowEnd = std::pair<ThreadId, Instant>;
  struct FlowEnds {
    std::vector<FlowEnd> from, to;
  };
  using TrackName = std::pair<std::string, std::string>;

  std::uint32_t number_of(const std::string& name);
  TrackName track_of(const ThreadId& thread) const;
  void add_tracks(Trace& trace);
  void join_counters();
  void add_counters(Trace& trace);
  void add_flows(Trace& trace);

  std::vector<Raw> slices_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::map<std::int64_t, std::string> processes_;
  std::map<ThreadId, std::string> threads_;
  std::map<std::string, std::map<std::string, std::vector<Sample>>> samples_;
  std::map<std::string, FlowEnds> flows_;
};

}  // namespace spillway::gui
