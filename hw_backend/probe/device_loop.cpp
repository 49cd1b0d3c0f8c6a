#include "hw_backend/probe/device_loop.hpp"

#include "hw_backend/probe/session.hpp"

namespace spillway::hw_backend {

Done DeviceLoop::done() {
  ++left_;
  return [this](const JobEnd& end) {
    if (end.error) {
      const std::lock_guard lock(mutex_);
      error_ = end.error;
    }
    --left_;
    engine_.wake();
  };
}

void DeviceLoop::wait() {
  const auto begin = std::chrono::steady_clock::now();
  while (left_ > 0) {
    if (seconds_since(begin) > limit_s_)
      end_hung_process(device_.name() + ": a measurement", limit_s_);
    (void)engine_.wait(std::min(1.0, limit_s_));
  }
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void DeviceLoop::run(const std::function<void(Primitives&)>& work) {
  device_.run(Stream::compute, 0, work, done());
  wait();
}

void DeviceLoop::copy(Stream stream, std::byte* into, const std::byte* from, std::uint64_t bytes,
                      unsigned times) {
  for (unsigned i = 0; i < times; ++i) device_.copy(stream, 0, into, from, bytes, done());
  wait();
}

void DeviceLoop::copy_both(std::byte* to_device, const std::byte* from_host, std::byte* to_host,
                           const std::byte* from_device, std::uint64_t bytes, unsigned times) {
  for (unsigned i = 0; i < times; ++i) {
    device_.copy(Stream::to_device, 0, to_device, from_host, bytes, done());
    device_.copy(Stream::to_host, 0, to_host, from_device, bytes, done());
  }
  wait();
}

PinnedMemory::PinnedMemory(std::uint64_t bytes, Device* device, IoEngine* engine)
    : bytes_(bytes), data_(memory_.take(bytes)), device_(device), engine_(engine) {
  if (device_) device_->pin(data_, bytes_);
  if (engine_) engine_->register_memory(data_, bytes_);
}

PinnedMemory::~PinnedMemory() {
  if (!data_) return;
  if (engine_) engine_->unregister_memory(data_);
  if (device_) device_->unpin(data_);
  memory_.give_back(data_, bytes_);
}

}  // namespace spillway::hw_backend
