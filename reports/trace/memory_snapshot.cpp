#include "reports/trace/memory_snapshot.hpp"

#include "reports/trace/pickle.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace spillway::reports {

namespace {

using nlohmann::json;
using result::TraceBuffer;

constexpr std::uint64_t between_devices = std::uint64_t{1} << 46;  // of addresses

/// The lowest place with room; buffers in use by where they are.
class Places {
 public:
  std::uint64_t take(std::uint64_t bytes) {
    std::uint64_t at = 0;
    for (const auto& [start, length] : taken_) {
      if (start - at >= bytes) break;
      at = start + length;
    }
    taken_[at] = bytes;
    end_ = std::max(end_, at + bytes);
    return at;
  }
  void give_back(std::uint64_t at) { taken_.erase(at); }
  std::uint64_t end() const { return end_; }

 private:
  std::map<std::uint64_t, std::uint64_t> taken_;
  std::uint64_t end_ = 0;
};

/// What happens to a buffer when.
struct Event {
  double at_s = 0;
  bool begins = false;
  const TraceBuffer* buffer = nullptr;
};

std::vector<Event> events_of(const std::vector<const TraceBuffer*>& buffers) {
  std::vector<Event> events;
  for (const TraceBuffer* buffer : buffers) {
    if (buffer->charged_bytes == 0 || buffer->freed_s == buffer->born_s) continue;
    events.push_back({buffer->born_s, true, buffer});
    if (buffer->freed_s) events.push_back({*buffer->freed_s, false, buffer});
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.at_s != b.at_s ? a.at_s < b.at_s : a.begins < b.begins;
  });
  return events;
}

/// Where a program would show its stack: what the buffer is.
json frames_of(const TraceBuffer& buffer) {
  const auto frame = [](const std::string& name, const std::string& file) {
    return json{{"name", name}, {"filename", file}, {"line", 0}};
  };
  return json::array({frame(buffer.purpose, buffer.phase),
                      frame(fmt::format("rank {}", buffer.rank),
                            buffer.tier + (buffer.pinned ? ", pinned" : ""))});
}

json entry(const char* action, std::uint64_t address, std::uint64_t bytes, double at_s,
           json frames) {
  return {{"action", action},
          {"addr", address},
          {"size", bytes},
          {"stream", 0},
          {"time_us", std::llround(at_s * 1e6)},
          {"frames", std::move(frames)}};
}

json block(std::uint64_t address, std::uint64_t bytes, const TraceBuffer* buffer) {
  return {{"address", address},
          {"size", bytes},
          {"requested_size", buffer ? buffer->asked_bytes : 0},
          {"state", buffer ? "active_allocated" : "inactive"},
          {"frames", buffer ? frames_of(*buffer) : json::array()}};
}

/// One device: its segment as it is at the end, and what happened before.
struct Device {
  json segment, entries;
};

json segment_of(std::size_t device, std::uint64_t base, std::uint64_t bytes,
                const std::map<std::uint64_t, const TraceBuffer*>& live) {
  json blocks = json::array();
  std::uint64_t at = base, active = 0, asked = 0;
  for (const auto& [address, buffer] : live) {
    if (address > at) blocks.push_back(block(at, address - at, nullptr));
    blocks.push_back(block(address, buffer->charged_bytes, buffer));
    at = address + buffer->charged_bytes;
    active += buffer->charged_bytes;
    asked += buffer->asked_bytes;
  }
  if (base + bytes > at) blocks.push_back(block(at, base + bytes - at, nullptr));
  return {{"device", device},
          {"address", base},
          {"total_size", bytes},
          {"allocated_size", active},
          {"active_size", active},
          {"requested_size", asked},
          {"stream", 0},
          {"segment_type", "large"},
          {"is_expandable", false},
          {"frames", json::array()},
          {"blocks", std::move(blocks)}};
}

Device device_of(std::size_t number, const std::vector<const TraceBuffer*>& buffers) {
  const std::uint64_t base = between_devices * (number + 1);
  Places places;
  std::map<const TraceBuffer*, std::uint64_t> addresses;
  std::map<std::uint64_t, const TraceBuffer*> live;
  json entries = json::array();
  for (const Event& event : events_of(buffers)) {
    const TraceBuffer& buffer = *event.buffer;
    if (event.begins) {
      const std::uint64_t address = base + places.take(buffer.charged_bytes);
      addresses[&buffer] = address;
      live[address] = &buffer;
      entries.push_back(
          entry("alloc", address, buffer.charged_bytes, event.at_s, frames_of(buffer)));
      continue;
    }
    const std::uint64_t address = addresses.at(&buffer);
    places.give_back(address - base);
    live.erase(address);
    for (const char* action : {"free_requested", "free_completed"})
      entries.push_back(
          entry(action, address, buffer.charged_bytes, event.at_s, frames_of(buffer)));
  }
  if (places.end() == 0) return {nullptr, json::array()};
  entries.insert(entries.begin(), entry("segment_alloc", base, places.end(), 0, json::array()));
  return {segment_of(number, base, places.end(), live), std::move(entries)};
}

}  // namespace

std::string memory_snapshot(const result::Trace& trace) {
  std::vector<std::string> tiers;  // GPUs, then the others as they come
  std::map<std::string, std::vector<const TraceBuffer*>> by_tier;
  for (const TraceBuffer& buffer : trace.buffers) {
    if (!by_tier.contains(buffer.tier)) tiers.push_back(buffer.tier);
    by_tier[buffer.tier].push_back(&buffer);
  }
  std::stable_sort(tiers.begin(), tiers.end(), [](const std::string& a, const std::string& b) {
    const bool gpu_a = a.starts_with("gpu "), gpu_b = b.starts_with("gpu ");
    if (gpu_a != gpu_b) return gpu_a;
    return gpu_a && (a.size() != b.size() ? a.size() < b.size() : a < b);
  });
  json segments = json::array(), traces = json::array();
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    Device device = device_of(i, by_tier[tiers[i]]);
    if (!device.segment.is_null()) segments.push_back(std::move(device.segment));
    traces.push_back(std::move(device.entries));
  }
  return pickled({{"segments", std::move(segments)}, {"device_traces", std::move(traces)}});
}

}  // namespace spillway::reports
