#pragma once

#include "hw_backend/device/device.hpp"
#include "hw_backend/device/host_memory.hpp"
#include "hw_backend/device/worker.hpp"

#include <array>

namespace spillway::hw_backend {

/// A GPU's part played by the host: DRAM for its memory, one thread a stream, Eigen for its
/// kernels. Everything is computed and copied for real; paced, it also takes the time that a GPU
/// would.
class HostDevice final : public Device {
 public:
  /// computes  false: kernels take their paced time and compute nothing (synthetic runs)
  /// budget    of the machine that it is a part of, which outlives it; null: it has its own
  /// copy_latency_s  of the paced time of a copy to or from the host; copies in a queue have theirs
  ///                 at the same time, as they do on a GPU and in the simulator
  explicit HostDevice(bool computes, MemoryBudget* budget = nullptr, double copy_latency_s = 0);
  ~HostDevice() override;

  std::string name() const override;
  bool shares_host() const override { return true; }
  std::byte* allocate(std::uint64_t bytes) override { return memory_.take(bytes); }
  void free(std::byte* memory, std::uint64_t bytes) noexcept override {
    memory_.give_back(memory, bytes);
  }
  void pin(std::byte*, std::uint64_t) override {}
  void unpin(std::byte*) noexcept override {}
  using Device::run;
  void run(Stream stream, double at_least_s, std::vector<DeviceWork> parts, Done done) override;
  void copy(Stream stream, double at_least_s, std::byte* into, const std::byte* from,
            std::uint64_t bytes, Done done) override;
  void collective(double at_least_s, PeerCall call, Done done) override;
  float fetch(const std::byte* from) override;
  std::optional<std::string> quiesce(double limit_s) override;

  /// Of all streams together.
  Worker::Pace pace() const;

 private:
  struct Lane;
  bool computes_;
  double copy_latency_s_;
  MemoryBudget own_budget_;
  HostMemory memory_;
  std::array<std::unique_ptr<Lane>, stream_count> lanes_;
};

/// "AMD EPYC 9355"
std::string processor_name();

}  // namespace spillway::hw_backend
