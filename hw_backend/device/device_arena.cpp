#include "hw_backend/device/device_arena.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/units.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::hw_backend {

namespace {

std::uint64_t in_units(std::uint64_t bytes) {
  return description::divide_up(bytes, DeviceArena::unit) * DeviceArena::unit;
}

}  // namespace

DeviceArena::DeviceArena(Device& device, std::uint64_t bytes)
    : device_(device),
      space_(std::min(in_units(bytes), device.available()), unit),
      base_(device.allocate(space_.capacity())) {}

std::byte* DeviceArena::take(std::uint64_t asked) {
  const std::uint64_t bytes = in_units(asked);
  const std::optional<std::uint64_t> offset = space_.take_whole(bytes, bytes < large);
  if (!offset)
    throw description::DeviceError(fmt::format(
        "{}: no room for {} bytes: {} of {} bytes are free, {} of them in one piece; a smaller "
        "gpu.memory in the machine file plans with less",
        device_.name(), asked, space_.free(), space_.capacity(), space_.largest_hole()));
  return base_ + *offset;
}

void DeviceArena::give_back(const std::byte* memory, std::uint64_t asked) {
  space_.give_back({0, static_cast<std::uint64_t>(memory - base_), in_units(asked)});
}

}  // namespace spillway::hw_backend
