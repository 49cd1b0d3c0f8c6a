#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace spillway::hw_backend {

/// What a disk has moved since the computer started, for all programs.
struct DiskCounts {
  std::string disk;  ///< "nvme0n1"
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
};

DiskCounts operator-(const DiskCounts& after, const DiskCounts& before);

/// Counts of the disk under `path`; of a partition, its whole disk.
///   root    where /sys and /proc are; another one in tests
///   Result  nothing where no disk is known: tmpfs, overlayfs, a network
std::optional<DiskCounts> read_disk_counts(const std::filesystem::path& path,
                                           const std::filesystem::path& root = "/");

/// The counts of the device with these numbers ("/sys/dev/block/MAJOR:MINOR"), likewise.
std::optional<DiskCounts> read_disk_counts(unsigned major, unsigned minor,
                                           const std::filesystem::path& root = "/");

}  // namespace spillway::hw_backend
