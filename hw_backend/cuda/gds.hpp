#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace spillway::hw_backend {

/// GPUDirect Storage: reads and writes between files and device memory without the host's.
/// libcufile.so.0 is found at run time; there is no header of it and no link to it.
///   Source  NVIDIA: cuFile API Reference Guide

/// Why it cannot be used here and what would help; empty when it can.
std::string gds_missing();
/// cuFile is here, and what it does by way of host memory for want of a kernel module; empty when
/// nothing is known to be amiss.
std::string gds_detour();

/// A file that cuFile may use: opened with O_DIRECT by who makes this, and still open when it ends.
///   Threads  any, with the device of the memory as the thread's own (`use_cuda_device`)
class DirectFile {
 public:
  /// Throws  DeviceError: no libcufile, or a file system that it does not know
  DirectFile(int descriptor, std::string path);
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;

  /// Waits. `memory` is device memory, of a registered buffer its beginning; the bytes go to or
  /// come from `memory_offset` behind it.
  ///   Throws  DeviceError: call, code name, file, offset; also when the file ends before
  void read(std::byte* memory, std::uint64_t memory_offset, std::uint64_t file_offset,
            std::uint64_t bytes);
  void write(const std::byte* memory, std::uint64_t memory_offset, std::uint64_t file_offset,
             std::uint64_t bytes);

 private:
  void* handle_ = nullptr;
  std::string path_;
};

/// Device memory that cuFile may reach without a detour; registered memory is faster.
class DirectBuffer {
 public:
  /// Throws  DeviceError
  DirectBuffer(const std::byte* memory, std::uint64_t bytes);
  ~DirectBuffer();
  DirectBuffer(const DirectBuffer&) = delete;

 private:
  const std::byte* memory_;
};

}  // namespace spillway::hw_backend
