#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace spillway::hw_backend {

/// How the kernel names a block device.
struct DeviceNumber {
  unsigned major = 0, minor = 0;
  friend auto operator<=>(const DeviceNumber&, const DeviceNumber&) = default;
};

/// "259:3", as in /sys/dev/block.
std::string to_string(DeviceNumber number);

/// Where the system's own accounts of its devices are.
struct Roots {
  std::filesystem::path sysfs = "/sys";
  std::filesystem::path proc = "/proc";
  std::filesystem::path udev = "/run/udev";
};

/// What opening gave: a descriptor, or the code of the refusal.
struct Opened {
  int fd = -1;
  int error = 0;  ///< errno when fd < 0
};

/// All that the gate asks of the system about block devices, so that a test can be the system.
/// Attributes, mounts, swaps and holders are read as text below `roots()`; the rest are calls.
class BlockLayer {
 public:
  virtual ~BlockLayer() = default;

  virtual Roots roots() const = 0;

  /// The number of the block device at `path`, links followed; none when it is not one.
  virtual std::optional<DeviceNumber> number_of(const std::filesystem::path& path) const = 0;
  virtual std::optional<DeviceNumber> number_of(int fd) const = 0;

  /// For reading and writing, past the page cache, refused while anybody else holds the device:
  /// a mount, swap, RAID, device mapper, or another exclusive opener.
  virtual Opened open_exclusive(const std::filesystem::path& path) const = 0;

  virtual bool read_only(int fd) const = 0;
  virtual std::uint64_t size(int fd) const = 0;           ///< bytes
  virtual std::uint32_t logical_block(int fd) const = 0;  ///< bytes; offsets are multiples of it

  /// File systems, RAID members, swap, partition tables: each signature in words. Includes what
  /// says that the device could not be read.
  virtual std::vector<std::string> signatures(int fd) const = 0;

  /// The whole of `into` or `from`, at multiples of logical_block.
  ///   Throws  DeviceError: call, code, offset
  virtual void read(int fd, std::uint64_t offset, std::span<std::byte> into) const = 0;
  virtual void write(int fd, std::uint64_t offset, std::span<const std::byte> from) const = 0;
};

/// This machine's.
class SystemBlockLayer : public BlockLayer {
 public:
  Roots roots() const override { return {}; }
  std::optional<DeviceNumber> number_of(const std::filesystem::path& path) const override;
  std::optional<DeviceNumber> number_of(int fd) const override;
  Opened open_exclusive(const std::filesystem::path& path) const override;
  bool read_only(int fd) const override;
  std::uint64_t size(int fd) const override;
  std::uint32_t logical_block(int fd) const override;
  std::vector<std::string> signatures(int fd) const override;
  void read(int fd, std::uint64_t offset, std::span<std::byte> into) const override;
  void write(int fd, std::uint64_t offset, std::span<const std::byte> from) const override;
};

/// What libblkid recognises on a device or an image in a file: every superblock, also one whose
/// checksum is wrong, and every partition table, also the copy of a GPT at the end.
std::vector<std::string> signatures_of(int fd);

}  // namespace spillway::hw_backend
