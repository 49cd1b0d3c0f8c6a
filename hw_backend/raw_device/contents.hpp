#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hw_backend/raw_device/block_layer.hpp"

namespace spillway::hw_backend {

/// Bytes in front of the mark, which takes the last whole MiB.
std::uint64_t usable_bytes(std::uint64_t device_bytes);

/// True when an earlier run left the mark of this serial number: one that was cut short, whatever
/// lies on the disk, one that ended, if the samples are those that it left.
bool has_mark(const BlockLayer& layer, int fd, std::uint64_t device_bytes,
              const std::string& serial);
/// That a run is going on.
void write_mark(const BlockLayer& layer, int fd, std::uint64_t device_bytes,
                const std::string& serial);
/// That it ended and left what the samples hold now.
void seal_mark(const BlockLayer& layer, int fd, std::uint64_t device_bytes,
               const std::string& serial);

/// The offset of a sampled block that is not all zero: the first and the last MiB, and 256 blocks
/// evenly between. None: the device looks as empty as it can without reading all of it.
std::optional<std::uint64_t> some_data(const BlockLayer& layer, int fd, std::uint64_t device_bytes);

}  // namespace spillway::hw_backend
