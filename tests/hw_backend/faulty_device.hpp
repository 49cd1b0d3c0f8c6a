#pragma once

#include "hw_backend/device/device.hpp"

#include <map>

namespace spillway::hw_backend {

/// How often each fault strikes, as a share of the calls; their sum is at most 1.
struct DevicePlan {
  std::uint64_t seed = 0;
  double throws = 0;  ///< the call itself throws, and does nothing
  double fails = 0;   ///< is done, and reports an error
  double silent = 0;  ///< is done, and reports nothing
  double hangs = 0;   ///< a copy never ends, and reports nothing
};

/// A device around another that fails on purpose, at the same calls for the same seed: which they
/// are follows from a call's stream and how many went before it there.
class FaultyDevice final : public Device {
 public:
  FaultyDevice(std::unique_ptr<Device> inner, DevicePlan plan);

  std::string name() const override { return "faulty " + inner_->name(); }
  bool shares_host() const override { return inner_->shares_host(); }
  int ordinal() const override { return inner_->ordinal(); }
  void meet(const std::vector<std::unique_ptr<Device>>& all) override { inner_->meet(all); }
  void reserve(const DeviceWork& work) override { inner_->reserve(work); }
  std::uint64_t available() const override { return inner_->available(); }
  std::byte* allocate(std::uint64_t bytes) override { return inner_->allocate(bytes); }
  void free(std::byte* memory, std::uint64_t bytes) noexcept override {
    inner_->free(memory, bytes);
  }
  void pin(std::byte* memory, std::uint64_t bytes) override { inner_->pin(memory, bytes); }
  void unpin(std::byte* memory) noexcept override { inner_->unpin(memory); }
  using Device::run;
  void run(Stream stream, double at_least_s, std::vector<DeviceWork> parts, Done done) override;
  void copy(Stream stream, double at_least_s, std::byte* into, const std::byte* from,
            std::uint64_t bytes, Done done) override;
  void collective(double at_least_s, PeerCall call, Done done) override;
  float fetch(const std::byte* from) override { return inner_->fetch(from); }
  std::uint64_t last_call(Stream stream) const override { return inner_->last_call(stream); }
  void wait_for(Stream stream, Stream other, std::uint64_t call) override {
    inner_->wait_for(stream, other, call);
  }
  std::optional<std::string> quiesce(double limit_s) override { return inner_->quiesce(limit_s); }
  double clock_error_s() const override { return inner_->clock_error_s(); }
  std::vector<std::string> notes() const override { return inner_->notes(); }

 private:
  Done struck(Stream stream, const char* call, Done done);

  std::unique_ptr<Device> inner_;
  DevicePlan plan_;
  std::uint64_t copies_ = 0;
  std::map<Stream, std::uint64_t> calls_;
};

}  // namespace spillway::hw_backend
