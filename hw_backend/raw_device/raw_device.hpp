#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "hw_backend/raw_device/block_layer.hpp"

namespace spillway::hw_backend {

/// An exclusively opened descriptor, closed in the end.
class HeldDevice {
 public:
  explicit HeldDevice(int fd) : fd_(fd) {}
  ~HeldDevice();
  HeldDevice(HeldDevice&& other) noexcept;
  HeldDevice& operator=(HeldDevice&&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// The disk that a gate looked at.
struct Drive {
  std::filesystem::path path;  ///< links resolved
  std::string model;           ///< "" when the kernel knows none
  std::string serial;          ///< what was allowed, and is this disk's alone
  std::uint64_t bytes = 0;
  std::uint32_t logical_block = 0;
  bool ours = false;  ///< an earlier run left its mark: what is on it is ours
};

/// What the run will do to the drive.
struct ProjectedWear {
  double written_bytes_per_step = 0;
  double steps = 0;
  std::optional<double> rated_write_bytes;  ///< its endurance; none: the machine file has none
};

/// A whole disk that may be overwritten: held exclusively while this lives, and nobody writes
/// beyond `size()`. Behind that lies the mark by which the next run knows its own leavings; when
/// this dies, the mark is bound to what is on the disk then.
class RawDevice {
 public:
  RawDevice(RawDevice&&) = default;
  RawDevice& operator=(RawDevice&&) = delete;
  ~RawDevice();

  int fd() const { return held_.fd(); }
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }  ///< bytes that may be written, from offset 0 on
  std::uint32_t alignment() const { return alignment_; }  ///< of offsets, lengths and memory

  /// Refuses a range that is not wholly inside [0, size()), or not aligned. Whoever writes by `fd`
  /// asks this first.
  ///   Throws  InternalError: a bug of ours
  void require_inside(std::uint64_t offset, std::uint64_t bytes) const;

  /// The whole range, which must be inside.
  ///   Throws  InternalError as above; DeviceError: call, code, offset
  void read(std::uint64_t offset, std::span<std::byte> into) const;
  void write(std::uint64_t offset, std::span<const std::byte> from) const;

 private:
  friend class RawGate;
  RawDevice(const BlockLayer& layer, HeldDevice held, const Drive& drive);

  const BlockLayer& layer_;
  HeldDevice held_;
  std::string name_, serial_;
  std::uint64_t bytes_, size_;
  std::uint32_t alignment_;
};

/// The only way to a RawDevice. A gate that exists has found no reason against the disk and holds
/// it exclusively; it writes nothing. `statement` must be shown, and the serial number typed again,
/// before it gives the device. In doubt it refuses.
class RawGate {
 public:
  /// Looks at the disk, holds it, looks again, and searches it for signatures and for data:
  /// its first and last MiB and 256 places between must be zero, unless an earlier run marked it.
  ///   path      the device, or a link to it
  ///   allowed   what --allow-raw said
  ///   layer     outlives gate and device
  ///   Throws    ScenarioError with every refusal: what was found, and the remedy; DeviceError when
  ///             a call fails
  RawGate(const BlockLayer& layer, const std::filesystem::path& path, const std::string& allowed);

  const Drive& drive() const { return drive_; }

  /// What will be overwritten and what that wears off, in lines that end by asking for the serial
  /// number.
  std::string statement(const ProjectedWear& wear);

  /// Looks at it all once more, as typing takes time and not everybody asks the kernel before he
  /// writes; marks the disk as ours and hands it over. The gate is spent.
  ///   typed    what the user typed under the statement, without the line's end
  ///   Throws   ScenarioError when it is not the serial number, and with every refusal; nothing
  ///            was written then
  ///            InternalError when there was no statement
  RawDevice open(const std::string& typed) &&;

 private:
  const BlockLayer& layer_;
  std::optional<HeldDevice> held_;
  Drive drive_;
  bool stated_ = false;
};

}  // namespace spillway::hw_backend
