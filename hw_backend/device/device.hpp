#pragma once

#include "hw_backend/arithmetic/primitives.hpp"
#include "strategies/machine/kernel.hpp"

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway::hw_backend {

/// In-order queues of a device.
enum class Stream : std::uint8_t { compute, side, to_device, to_host, peers };
inline constexpr std::size_t stream_count = static_cast<std::size_t>(Stream::peers) + 1;
constexpr std::string_view to_string(Stream stream) {
  constexpr std::string_view names[] = {"compute", "side", "to_device", "to_host", "peers"};
  return names[static_cast<std::size_t>(stream)];
}

/// Seconds of the clock by which every end is told: std::chrono::steady_clock's.
inline double host_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// How a call on a device or worker ended.
struct JobEnd {
  std::exception_ptr error{};  ///< null: none; otherwise no time is known
  double started_s = 0;        ///< of host_now_s: its stream was free for it, all it followed over
  double finished_s = 0;
  std::vector<double> parts_s{};  ///< of a run: when each part ended
};
/// Called once, from any thread, when all work that was enqueued for it has ended.
using Done = std::function<void(const JobEnd&)>;

/// Enqueues kernels on the primitives of a stream.
using DeviceWork = std::function<void(Primitives&)>;

/// A collective of devices of one process, on raw memory: `in` and `out` by member, in rank order.
struct PeerCall {
  strategies::Collective what = strategies::Collective::all_gather;
  Element type = Element::fp32;
  std::uint64_t bytes = 0;  ///< of the whole
  strategies::PartPieces pieces{};
  std::vector<std::uint64_t> parts{};  ///< all_to_all of pieces.shares: of each share, its bytes
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
};

/// A GPU, or what stands for one, of one rank. Its memory may or may not be the host's.
///   Returns  every call at once, but for `fetch` and `quiesce`
///   at_least_s  with pacing: the call ends no earlier than so long after its stream was free for
///               it; devices that are what they are ignore it
class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;

  /// "host device: 2 threads of AMD EPYC", "NVIDIA H200, CUDA 13.0"
  virtual std::string name() const = 0;
  /// Device memory lies in the host's DRAM, and copies between them are the host's own.
  virtual bool shares_host() const = 0;

  /// The GPU that it is, by the driver's count; -1: none.
  virtual int ordinal() const { return -1; }
  /// Says with which others it will have collectives: what those take of its memory is taken now,
  /// so that buffers get the rest.
  ///   Throws  DeviceError when there is none
  virtual void meet(const std::vector<std::unique_ptr<Device>>& /*all*/) {}
  /// Takes now all memory that `work` on the compute stream will need beside its operands: it is
  /// gone through and not run, with addresses where nothing lies.
  ///   Throws  DeviceError when there is none
  virtual void reserve(const DeviceWork& /*work*/) {}
  /// Bytes of memory that buffers may still have, without what the device needs for itself later;
  /// no limit where they are the host's.
  virtual std::uint64_t available() const { return ~std::uint64_t{0}; }
  /// Aligned to 256 bytes.
  ///   Throws  DeviceError when there is none
  virtual std::byte* allocate(std::uint64_t bytes) = 0;
  /// Destructors call this and `unpin`: what a device refuses then is in `notes`.
  virtual void free(std::byte* memory, std::uint64_t bytes) noexcept = 0;
  /// Makes host memory known to the device, so that copies need no staging.
  ///   Throws  DeviceError; the memory is then as unknown as before
  virtual void pin(std::byte* memory, std::uint64_t bytes) = 0;
  virtual void unpin(std::byte* memory) noexcept = 0;

  /// All parts, one behind the other.
  virtual void run(Stream stream, double at_least_s, std::vector<DeviceWork> parts, Done done) = 0;
  void run(Stream stream, double at_least_s, DeviceWork work, Done done) {
    std::vector<DeviceWork> parts;
    parts.push_back(std::move(work));
    run(stream, at_least_s, std::move(parts), std::move(done));
  }
  /// Between any two memories of host and device.
  virtual void copy(Stream stream, double at_least_s, std::byte* into, const std::byte* from,
                    std::uint64_t bytes, Done done) = 0;
  virtual void collective(double at_least_s, PeerCall call, Done done) = 0;

  /// The fp32 number at `from`, which nothing writes now.
  virtual float fetch(const std::byte* from) = 0;
  /// Names the last call on `stream`, for `wait_for`; 0: calls here wait for nothing but their
  /// stream.
  virtual std::uint64_t last_call(Stream) const { return 0; }
  /// The next call on `stream` begins no earlier than the call `call` of `other` has ended,
  /// without a thread of the caller's. An error of that call is not passed on.
  virtual void wait_for(Stream /*stream*/, Stream /*other*/, std::uint64_t /*call*/) {}

  /// Drops what has not begun and waits for what has: nothing runs any more, nobody is told.
  ///   Result  what is not at rest after `limit_s`, in words; it may still use its memory
  virtual std::optional<std::string> quiesce(double limit_s) = 0;
  /// By how much the times that it tells may miss the host's clock, as far as is known; 0: they are
  /// the host's.
  virtual double clock_error_s() const { return 0; }
  /// What nobody could be told by an exception, with the device's own words; for the report.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace spillway::hw_backend
