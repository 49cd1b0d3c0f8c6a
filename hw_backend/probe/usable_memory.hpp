#pragma once

#include <cstdint>
#include <filesystem>

namespace spillway::hw_backend {

/// Bytes that this process may use: what the kernel says is available, and no more than the limit
/// of any control group it is in (versions 1 and 2).
///   root  where /proc and /sys are; another one in tests
std::uint64_t usable_memory(const std::filesystem::path& root = "/");

/// A measurement needs some memory, and a control group ends at once whoever takes more than it
/// has.
///   Throws  DeviceError: less than that is usable
void require_memory_to_probe(std::uint64_t usable);

}  // namespace spillway::hw_backend
