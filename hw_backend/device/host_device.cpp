#include "hw_backend/device/host_device.hpp"

#include "hw_backend/arithmetic/host_primitives.hpp"
#include "hw_backend/device/peers.hpp"

#include <cstring>
#include <fstream>

namespace spillway::hw_backend {

/// A stream: its thread, and what computes on it.
struct HostDevice::Lane {
  HostPrimitives primitives;
  Worker worker;
};

HostDevice::HostDevice(bool computes, MemoryBudget* budget, double copy_latency_s)
    : computes_(computes),
      copy_latency_s_(copy_latency_s),
      memory_(budget ? *budget : own_budget_, false) {
  for (auto& lane : lanes_) lane = std::make_unique<Lane>();
}

HostDevice::~HostDevice() = default;

std::string HostDevice::name() const {
  return "host device, " + std::to_string(usable_cores()) + " cores of " + processor_name();
}

void HostDevice::run(Stream stream, double at_least_s, std::vector<DeviceWork> parts, Done done) {
  Lane& lane = *lanes_[static_cast<std::size_t>(stream)];
  const auto ends = std::make_shared<std::vector<double>>();
  lane.worker.add(
      at_least_s,
      [computes = computes_, &lane, parts = std::move(parts), ends] {
        for (const DeviceWork& part : parts) {
          if (computes) part(lane.primitives);
          ends->push_back(host_now_s());
        }
      },
      [done = std::move(done), ends](JobEnd end) {
        end.parts_s = std::move(*ends);
        done(end);
      });
}

void HostDevice::copy(Stream stream, double at_least_s, std::byte* into, const std::byte* from,
                      std::uint64_t bytes, Done done) {
  const bool over_link = stream == Stream::to_device || stream == Stream::to_host;
  lanes_[static_cast<std::size_t>(stream)]->worker.add(
      at_least_s, [=] { std::memcpy(into, from, bytes); }, std::move(done),
      over_link ? copy_latency_s_ : 0);
}

void HostDevice::collective(double at_least_s, PeerCall call, Done done) {
  lanes_[static_cast<std::size_t>(Stream::peers)]->worker.add(
      at_least_s, [call = std::move(call)] { combine(call); }, std::move(done));
}

float HostDevice::fetch(const std::byte* from) {
  float value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::optional<std::string> HostDevice::quiesce(double limit_s) {
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    if (!lanes_[i]->worker.quiesce(limit_s))
      return name() + ": its stream " + std::string(to_string(static_cast<Stream>(i)));
  return std::nullopt;
}

Worker::Pace HostDevice::pace() const {
  Worker::Pace all;
  for (const auto& lane : lanes_) all += lane->worker.pace();
  return all;
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "an unnamed processor";
}

}  // namespace spillway::hw_backend
