#include "reports/run/timeline.hpp"

#include "reports/trace/trace_tracks.hpp"
#include "reports/words/verdict.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <unordered_map>

namespace spillway::reports {

using result::Trace;
using result::TraceBuffer;
using result::TraceSpan;

namespace {

bool in(const Window& window, const TraceSpan& span) {
  const double middle = (span.start_s + span.end_s) / 2;
  return middle >= window.first_s && middle <= window.last_s;
}

/// Numbers names in the order in which they come.
class Names {
 public:
  explicit Names(std::vector<std::string>& names) : names_(names) {}
  std::uint32_t of(const std::string& name) {
    const auto [found, is_new] = numbers_.emplace(name, names_.size());
    if (is_new) names_.push_back(name);
    return static_cast<std::uint32_t>(found->second);
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

/// What an engine is called on a page.
std::string engine(std::string title) {
  constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"phases", "phase"},    {"compute", "kernels"}, {"side", "side stream"},
      {"h2d", "host to GPU"}, {"d2h", "GPU to host"}, {"cpu", "CPU"}};
  for (const auto& [name, word] : words)
    if (title == name || title.starts_with(std::string(name) + " ("))
      return std::string(word) + title.substr(name.size());
  return title;
}

/// Lanes of one engine; what runs beside as many others is one slice with all that overlap it.
constexpr std::size_t most_lanes = 4;

/// Makes slices of spans, and operations by number become slices by place: the first of each.
class Filler {
 public:
  Filler(view::Lanes& lanes, const Window& window)
      : lanes_(lanes), window_(window), names_(lanes.names) {
    names_.of("");
  }

  void add(const Track& track) {
    Track shown{track.place, {}};
    for (const TraceSpan* span : track.spans)
      if (in(window_, *span)) shown.spans.push_back(span);
    if (shown.spans.empty()) return;
    const Split found = split(shown);
    const std::size_t first = lanes_.lanes.size(), count = std::min(found.lanes, most_lanes);
    const bool phases = track.place.thread == "phases";
    for (std::size_t i = 0; i < count; ++i)
      lanes_.lanes.push_back({engine(lane_title(track.place, i)),
                              phases ? std::string("step") : track.place.process()});
    crowd_ = crowd_size_ = 0;
    for (std::size_t i = 0; i < shown.spans.size(); ++i) {
      const TraceSpan& span = *shown.spans[i];
      const bool crowded = found.lanes > most_lanes && found.lane[i] + 1 >= most_lanes;
      const std::size_t lane = std::min(found.lane[i], most_lanes - 1);
      if (!crowded || !join(span)) put(span, static_cast<std::uint32_t>(first + lane));
      if (crowded && crowd_size_ == 0) crowd_ = lanes_.slices.size() - 1, crowd_size_ = 1;
    }
  }

  void link() {
    for (std::size_t i = 0; i < lanes_.slices.size(); ++i) {
      lanes_.slices[i].after = slice_of(spans_[i]->after, i);
      lanes_.slices[i].from = slice_of(spans_[i]->from, i);
    }
  }

 private:
  void put(const TraceSpan& span, std::uint32_t lane) {
    view::Slice slice{span.start_s - window_.first_s, span.end_s - window_.first_s,
                      (span.operation > 0 ? span.asked_s : span.start_s) - window_.first_s};
    slice.lane = lane;
    slice.name = names_.of(plain(span.name));
    slice.phase = names_.of(plain(span.phase));
    slice.bytes = span.bytes;
    if (span.operation > 0)
      first_.emplace(span.operation, static_cast<std::uint32_t>(lanes_.slices.size()));
    spans_.push_back(&span);
    lanes_.slices.push_back(slice);
  }

  /// Adds the span to the crowd if it overlaps it; else the next one begins.
  bool join(const TraceSpan& span) {
    if (crowd_size_ == 0) return false;
    view::Slice& crowd = lanes_.slices[crowd_];
    if (span.start_s - window_.first_s >= crowd.end_s) {
      crowd_size_ = 0;
      return false;
    }
    crowd.end_s = std::max(crowd.end_s, span.end_s - window_.first_s);
    crowd.bytes += span.bytes;
    crowd.name = names_.of(
        fmt::format("{} at once, the first {}", ++crowd_size_, plain(spans_[crowd_]->name)));
    if (span.operation > 0) first_.emplace(span.operation, static_cast<std::uint32_t>(crowd_));
    return true;
  }

  /// None where it is the slice itself.
  std::uint32_t slice_of(std::uint64_t operation, std::size_t self) const {
    const auto found = first_.find(operation);
    const bool known = operation > 0 && found != first_.end() && found->second != self;
    return known ? found->second : view::Slice::none;
  }

  view::Lanes& lanes_;
  const Window& window_;
  Names names_;
  std::size_t crowd_ = 0, crowd_size_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> first_;
  std::vector<const TraceSpan*> spans_;
};

constexpr std::size_t purposes_shown = 7;

/// Bytes of one purpose: what changes when.
using Changes = std::map<double, std::int64_t>;

view::Curve curve_of(std::string label, const Changes& changes, const Window& window) {
  view::Curve curve{std::move(label), {}};
  std::int64_t bytes = 0;
  for (const auto& [at, by] : changes) {
    bytes += by;
    if (at > window.last_s) break;
    const double shown = std::max(0.0, at - window.first_s);
    if (!curve.samples.empty() && curve.samples.back().at == shown)
      curve.samples.back().value = static_cast<double>(bytes);
    else
      curve.samples.push_back({shown, static_cast<double>(bytes)});
  }
  return curve;
}

double largest(const view::Curve& curve) {
  double most = 0;
  for (const view::Sample& sample : curve.samples) most = std::max(most, sample.value);
  return most;
}

/// The bytes of a tier by purpose, in the order of the tier's peak, so that a purpose has one
/// colour on a page; those beyond are one.
std::vector<view::Curve> curves_of(const std::map<std::string, Changes>& by_purpose,
                                   const result::PeakBytes& peak, const Window& window) {
  std::vector<view::Curve> curves;
  for (const auto& [purpose, changes] : by_purpose) {
    curves.push_back(curve_of(purpose, changes, window));
    if (largest(curves.back()) == 0) curves.pop_back();
  }
  const auto weight = [&](const view::Curve& curve) {
    const auto at_peak = peak.by_purpose.find(curve.label);
    return std::pair(at_peak == peak.by_purpose.end() ? 0 : at_peak->second, largest(curve));
  };
  std::stable_sort(curves.begin(), curves.end(), [&](const view::Curve& a, const view::Curve& b) {
    return weight(a) > weight(b);
  });
  if (curves.size() <= purposes_shown + 1) return curves;
  Changes rest;
  for (std::size_t i = purposes_shown; i < curves.size(); ++i)
    for (const auto& [at, by] : by_purpose.at(curves[i].label)) rest[at] += by;
  const std::string label = std::to_string(curves.size() - purposes_shown) + " more";
  curves.resize(purposes_shown);
  curves.push_back(curve_of(label, rest, window));
  return curves;
}

double total(const std::vector<view::Curve>& curves) {
  double sum = 0;
  for (const view::Curve& curve : curves) sum += largest(curve);
  return sum;
}

}  // namespace

std::string plain(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::optional<Window> last_step(const Trace& trace) {
  std::optional<Window> found;
  for (const TraceSpan& span : trace.spans)
    if (span.track == "steps" && span.name.starts_with("step"))
      found = Window{span.start_s, span.end_s};
  return found;
}

view::Lanes timeline(const Trace& trace, const Window& window) {
  view::Lanes lanes;
  lanes.title = "One step, by engine";
  lanes.last_s = window.last_s - window.first_s;
  std::vector<Track> tracks = tracks_of(trace);
  std::stable_partition(tracks.begin(), tracks.end(),
                        [](const Track& track) { return track.place.thread == "phases"; });
  Filler filler(lanes, window);
  for (const Track& track : tracks)
    if (track.place.thread != "steps") filler.add(track);
  filler.link();
  return lanes;
}

std::vector<view::Series> memory_over_time(const result::Result& result, const Trace& trace,
                                           const Window& window) {
  std::vector<std::string> tiers;  // in the order of the trace
  std::map<std::string, std::map<std::string, Changes>> by_tier;
  for (const TraceBuffer& buffer : trace.buffers) {
    if (!by_tier.contains(buffer.tier)) tiers.push_back(buffer.tier);
    const bool memory = buffer.tier == "host" || buffer.tier.starts_with("gpu ");
    const std::uint64_t asked = memory ? buffer.asked_bytes : buffer.charged_bytes;
    const auto add = [&](const std::string& purpose, std::uint64_t bytes) {
      if (bytes == 0) return;
      Changes& changes = by_tier[buffer.tier][purpose];
      changes[buffer.born_s] += static_cast<std::int64_t>(bytes);
      if (buffer.freed_s) changes[*buffer.freed_s] -= static_cast<std::int64_t>(bytes);
    };
    add(buffer.purpose, asked);  // rounding has a name of its own, as at the peak
    add(buffer.tier == "host" ? "pinned_rounding" : "gpu_rounding", buffer.charged_bytes - asked);
  }
  std::optional<view::Series> gpu;
  std::vector<view::Series> others;
  double fullest = -1;
  for (const std::string& tier : tiers) {
    const bool of_gpu = tier.starts_with("gpu ");
    const result::PeakBytes& peak = of_gpu ? result.gpu : tier == "host" ? result.host : result.ssd;
    const bool memory = of_gpu || tier == "host";
    view::Series series{of_gpu           ? "GPU memory, rank " + tier.substr(4)
                        : tier == "host" ? std::string("Host memory")
                                         : tier,
                        memory ? view::Quantity::memory : view::Quantity::bytes, true};
    series.curves = curves_of(by_tier[tier], peak, window);
    for (view::Curve& curve : series.curves) curve.label = plain(curve.label);
    if (series.curves.empty()) continue;
    if (memory && peak.capacity > peak.reserve)
      series.limit = tier_number(of_gpu ? "gpu" : "host", peak.capacity - peak.reserve);
    if (!of_gpu) {
      others.push_back(std::move(series));
    } else if (total(series.curves) > fullest) {
      fullest = total(series.curves);
      gpu = std::move(series);
    }
  }
  if (gpu) others.insert(others.begin(), std::move(*gpu));
  return others;
}

}  // namespace spillway::reports
