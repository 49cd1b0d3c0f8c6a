#pragma once

#include <array>
#include <vector>

#include "hw_backend/cuda/cuda_primitives.hpp"
#include "hw_backend/cuda/cuda_stream.hpp"
#include "hw_backend/cuda/lane.hpp"
#include "hw_backend/cuda/peers.hpp"

namespace spillway::hw_backend {

/// A CUDA device as one rank sees it, with streams of its own. What it takes for itself, scratch
/// and kernels that are loaded with their first use, it has taken when it is open.
///   Pacing  none: a GPU is what it is
class CudaDevice final : public Device {
 public:
  /// Throws  DeviceError: no such device, no cuBLAS
  explicit CudaDevice(int ordinal);
  ~CudaDevice() override;

  std::string name() const override { return name_; }
  bool shares_host() const override { return false; }
  int ordinal() const override { return ordinal_; }
  void meet(const std::vector<std::unique_ptr<Device>>& all) override;
  void reserve(const DeviceWork& work) override;
  std::uint64_t available() const override;
  std::byte* allocate(std::uint64_t bytes) override;
  void free(std::byte* memory, std::uint64_t bytes) noexcept override;
  /// Once for all devices; two ranks may pin the same memory.
  void pin(std::byte* memory, std::uint64_t bytes) override;
  void unpin(std::byte* memory) noexcept override;
  using Device::run;
  void run(Stream stream, double at_least_s, std::vector<DeviceWork> parts, Done done) override;
  void copy(Stream stream, double at_least_s, std::byte* into, const std::byte* from,
            std::uint64_t bytes, Done done) override;
  void collective(double at_least_s, PeerCall call, Done done) override;
  float fetch(const std::byte* from) override;
  std::uint64_t last_call(Stream stream) const override { return lane(stream).last_job(); }
  void wait_for(Stream stream, Stream other, std::uint64_t call) override;
  std::optional<std::string> quiesce(double limit_s) override;
  double clock_error_s() const override { return clock_->error_s(); }
  std::vector<std::string> notes() const override { return notes_; }

 private:
  struct Wait {
    Stream other;
    std::uint64_t call;
  };
  Lane& lane(Stream stream) const { return *lanes_[static_cast<std::size_t>(stream)]; }
  using Enqueue = std::function<void(Lane&)>;
  void add(Stream stream, std::vector<Enqueue> parts, Done done);
  void add(Stream stream, Enqueue part, Done done);
  void note(const std::string& what);
  void take_for_itself();

  int ordinal_;
  std::string name_;
  std::vector<std::string> notes_;  ///< without two alike
  std::unique_ptr<CudaStream> fetches_;
  struct FreeHost {
    void operator()(float* word) const { cudaFreeHost(word); }
  };
  std::unique_ptr<float, FreeHost> fetched_;  ///< pinned: a copy to it needs no staging
  /// Those of `compute` and `side` with the device, others by the lane that uses them.
  std::array<std::unique_ptr<CudaPrimitives>, stream_count> primitives_;
  Peers peers_;
  std::unique_ptr<DeviceClock> clock_;
  std::array<std::unique_ptr<Lane>, stream_count> lanes_;
  std::array<std::vector<Wait>, stream_count> waits_;  ///< of the next call on each
};

/// How many devices the driver shows.
///   Throws  DeviceError: no driver, or one too old for this build
int count_cuda_devices();

}  // namespace spillway::hw_backend
