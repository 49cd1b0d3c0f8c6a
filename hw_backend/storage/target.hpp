#pragma once

#include "hw_backend/storage/descriptor.hpp"

#include <sys/types.h>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace spillway::hw_backend {

/// What direct transfers have to be multiples of; 1 where nothing is asked.
struct Alignment {
  std::uint32_t memory = 1;
  std::uint32_t offset = 1;
};

/// What an engine has done; requests are what the kernel was asked, transfers are split into them.
struct IoCounters {
  std::uint64_t bytes_read = 0;     ///< by the kernel, the sectors around an unaligned end included
  std::uint64_t bytes_written = 0;  ///< likewise
  std::uint64_t requests = 0;       ///< ended, each resubmission included
  std::uint64_t resubmissions = 0;  ///< after a short transfer, EAGAIN, EBUSY or EINTR
  std::uint64_t bytes_checked = 0;  ///< read and compared with a hash; of an engine, not a target
};

enum class Access { read, read_write };

/// An opened file or block device: its descriptor, size and alignment. Transfers name it; it
/// outlives them.
///   Direct   past the page cache where that was wanted and the file can do it: not on a file
///            system without O_DIRECT, nor on a file whose size is no multiple of the alignment,
///            whose last sector no direct write could end in
class Target {
 public:
  /// Takes over `fd`, opened with or without O_DIRECT; turns that on or off.
  ///   name    for messages: its path
  ///   most    bytes of it that are ours, from the start on; the rest is never touched
  ///   Throws  DeviceError when its size or flags cannot be had
  Target(Descriptor fd, std::string name, Access access, bool direct,
         std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  /// Opens what is there, and creates nothing.
  ///   Throws  DeviceError: the call, its code, the path
  static Target open(const std::filesystem::path& path, Access access, bool direct);

  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }
  /// The last part of its name: the same from run to run, where the directory's is random.
  std::string short_name() const;
  std::uint64_t size() const { return size_; }
  bool writable() const { return access_ == Access::read_write; }
  bool direct() const { return direct_; }
  Alignment alignment() const { return alignment_; }
  /// The block device that it is or lies on; requests queue per device.
  dev_t device() const { return device_; }

  /// What engines have moved to and from it.
  IoCounters counters;
  /// Its slot among the engine's registered files; -1: none. Kept by the engine.
  int registered = -1;

 private:
  Descriptor fd_;
  std::string name_;
  Access access_;
  bool direct_ = false;
  std::uint64_t size_ = 0;
  Alignment alignment_;
  dev_t device_ = 0;
};

}  // namespace spillway::hw_backend
