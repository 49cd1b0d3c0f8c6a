#include "reports/timeline.hpp"

#include "reports/trace_tracks.hpp"
#include "reports/verdict.hpp"

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

/// Operations by number become slices by place: the first bar of each.
class Links {
 public:
  void add(const TraceSpan& span, std::uint32_t slice) {
    if (span.operation > 0) first_.emplace(span.operation, slice);
    spans_.push_back(&span);
  }
  void resolve(std::vector<view::Slice>& slices) const {
    for (std::size_t i = 0; i < slices.size(); ++i) {
      slices[i].after = slice_of(spans_[i]->after);
      slices[i].from = slice_of(spans_[i]->from);
    }
  }

 private:
  std::uint32_t slice_of(std::uint64_t operation) const {
    const auto found = first_.find(operation);
    return operation > 0 && found != first_.end() ? found->second : view::Slice::none;
  }
  std::unordered_map<std::uint64_t, std::uint32_t> first_;
  std::vector<const TraceSpan*> spans_;
};

Track shown_of(const Track& track, const Window& window) {
  Track shown{track.place, {}};
  for (const TraceSpan* span : track.spans)
    if (in(window, *span)) shown.spans.push_back(span);
  return shown;
}

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

/// The bytes of a tier by purpose, the largest first; those beyond are one.
std::vector<view::Curve> curves_of(const std::map<std::string, Changes>& by_purpose,
                                   const Window& window) {
  std::vector<view::Curve> curves;
  for (const auto& [purpose, changes] : by_purpose) {
    curves.push_back(curve_of(purpose, changes, window));
    if (largest(curves.back()) == 0) curves.pop_back();
  }
  std::stable_sort(curves.begin(), curves.end(), [](const view::Curve& a, const view::Curve& b) {
    return largest(a) > largest(b);
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
  Names names(lanes.names);
  names.of("");
  Links links;
  for (const Track& track : tracks_of(trace)) {
    if (track.place.thread == "steps") continue;
    const Track shown = shown_of(track, window);
    if (shown.spans.empty()) continue;
    const Split found = split(shown);
    const std::size_t first = lanes.lanes.size();
    for (std::size_t i = 0; i < found.lanes; ++i)
      lanes.lanes.push_back({lane_title(track.place, i), track.place.process()});
    for (std::size_t i = 0; i < shown.spans.size(); ++i) {
      const TraceSpan& span = *shown.spans[i];
      links.add(span, static_cast<std::uint32_t>(lanes.slices.size()));
      view::Slice slice{span.start_s - window.first_s, span.end_s - window.first_s,
                        (span.operation > 0 ? span.asked_s : span.start_s) - window.first_s};
      slice.lane = static_cast<std::uint32_t>(first + found.lane[i]);
      slice.name = names.of(span.name);
      slice.phase = names.of(span.phase);
      slice.bytes = span.bytes;
      lanes.slices.push_back(slice);
    }
  }
  links.resolve(lanes.slices);
  return lanes;
}

std::vector<view::Series> memory_over_time(const result::Result& result, const Trace& trace,
                                           const Window& window) {
  std::vector<std::string> tiers;  // in the order of the trace
  std::map<std::string, std::map<std::string, Changes>> by_tier;
  for (const TraceBuffer& buffer : trace.buffers) {
    if (!by_tier.contains(buffer.tier)) tiers.push_back(buffer.tier);
    Changes& changes = by_tier[buffer.tier][buffer.purpose];
    changes[buffer.born_s] += static_cast<std::int64_t>(buffer.charged_bytes);
    if (buffer.freed_s) changes[*buffer.freed_s] -= static_cast<std::int64_t>(buffer.charged_bytes);
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
    series.curves = curves_of(by_tier[tier], window);
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
