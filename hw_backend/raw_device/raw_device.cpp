#include "hw_backend/raw_device/raw_device.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "hw_backend/raw_device/contents.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

HeldDevice::~HeldDevice() {
  if (fd_ >= 0) close(fd_);
}

HeldDevice::HeldDevice(HeldDevice&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

RawDevice::RawDevice(const BlockLayer& layer, HeldDevice held, const Drive& drive)
    : layer_(layer),
      held_(std::move(held)),
      name_(drive.path.string()),
      serial_(drive.serial),
      bytes_(drive.bytes),
      size_(usable_bytes(drive.bytes)),
      alignment_(drive.logical_block) {}

RawDevice::~RawDevice() {
  if (fd() < 0) return;  // it was moved away
  try {
    seal_mark(layer_, fd(), bytes_, serial_);
  } catch (const std::exception&) {
    // the mark stays that of a run that was cut short, which it is if its disk does not answer
  }
}

void RawDevice::require_inside(std::uint64_t offset, std::uint64_t bytes) const {
  ENSURE(
      offset <= size_ && bytes <= size_ - offset,
      fmt::format("bytes {} to {} of {}, which ends at {}", offset, offset + bytes, name_, size_));
  ENSURE(
      offset % alignment_ == 0 && bytes % alignment_ == 0,
      fmt::format("{} bytes at {} of {}, whose blocks have {}", bytes, offset, name_, alignment_));
}

void RawDevice::read(std::uint64_t offset, std::span<std::byte> into) const {
  require_inside(offset, into.size());
  layer_.read(fd(), offset, into);
}

void RawDevice::write(std::uint64_t offset, std::span<const std::byte> from) const {
  require_inside(offset, from.size());
  layer_.write(fd(), offset, from);
}

}  // namespace spillway::hw_backend
