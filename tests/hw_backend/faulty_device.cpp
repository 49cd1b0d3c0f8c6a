#include "tests/hw_backend/faulty_device.hpp"

#include "scenarios/description/errors.hpp"

#include <fmt/format.h>
#include <chrono>
#include <thread>

namespace spillway::hw_backend {

namespace {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), as a number in [0, 1).
double share_of(std::uint64_t number) {
  number += 0x9E3779B97F4A7C15u;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((number ^ (number >> 31)) >> 11) * 0x1p-53;
}

}  // namespace

FaultyDevice::FaultyDevice(std::unique_ptr<Device> inner, DevicePlan plan)
    : inner_(std::move(inner)), plan_(plan) {}

/// What to call when the call has ended, after the fault that befalls it.
Done FaultyDevice::struck(Stream stream, const char* call, Done done) {
  const std::uint64_t before = calls_[stream]++;
  const double share =
      share_of(plan_.seed * 1'000'003 + static_cast<std::uint64_t>(stream) * 65'537 + before * 17);
  const description::DeviceError error(
      fmt::format("{}: injected, seed {}, call {} of its stream", call, plan_.seed, before));
  if (share < plan_.throws) throw error;
  if (share < plan_.throws + plan_.fails)
    return [done = std::move(done), error](JobEnd end) {
      end.error = std::make_exception_ptr(error);
      done(end);
    };
  if (share < plan_.throws + plan_.fails + plan_.silent) return [](const JobEnd&) {};
  return done;
}

void FaultyDevice::run(Stream stream, double at_least_s, std::vector<DeviceWork> parts, Done done) {
  inner_->run(stream, at_least_s, std::move(parts), struck(stream, "run", std::move(done)));
}

void FaultyDevice::copy(Stream stream, double at_least_s, std::byte* into, const std::byte* from,
                        std::uint64_t bytes, Done done) {
  if (share_of(plan_.seed + 7919 * ++copies_) < plan_.hangs)
    return inner_->run(
        stream, 0, [](Primitives&) { std::this_thread::sleep_for(std::chrono::hours(1)); },
        std::move(done));
  inner_->copy(stream, at_least_s, into, from, bytes, struck(stream, "copy", std::move(done)));
}

void FaultyDevice::collective(double at_least_s, PeerCall call, Done done) {
  inner_->collective(at_least_s, std::move(call),
                     struck(Stream::peers, "collective", std::move(done)));
}

}  // namespace spillway::hw_backend
