#pragma once

#include <cstdint>
#include <filesystem>

namespace spillway::hw_backend {

/// Bytes that this process may use: what the kernel says is available, and no more than the limit
/// of any control group it is in (versions 1 and 2).
///   root  where /proc and /sys are; another one in tests
std::uint64_t usable_memory(const std::filesystem::path& root = "/");

}  // namespace spillway::hw_backend
