// What hw_backend/cuda/gds uses of cuFile, played by read and write on memory of the process. A
// library of its own, found by its name as the real one is.
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <set>

namespace {

struct Error {
  int code, driver;
};
struct Description {
  int type;
  union {
    int descriptor;
    void* handle;
  } file;
  const void* operations;
};
struct Handle {
  int descriptor;
};

std::atomic<unsigned> transfers{0};
std::atomic<bool> failing{false};
std::atomic<unsigned> registrations{0}, detours{0};
std::mutex buffers_mutex;
std::set<const void*> buffers;

/// Memory that is no registered buffer's begin goes by way of another buffer.
void count(const void* memory) {
  ++transfers;
  const std::lock_guard lock(buffers_mutex);
  detours += buffers.count(memory) == 0;
}

constexpr int handle_type_invalid = 5026;
constexpr std::size_t most_at_once = 1 << 20;  // less than asked for, as cuFile may

/// Device memory by the kernel, since the processor may not touch it.
int device_memory() {
  static const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  return memory;
}
off_t address(const void* memory, off_t at) {
  return static_cast<off_t>(reinterpret_cast<std::uintptr_t>(memory)) + at;
}

/// Device memory need not be where O_DIRECT wants it.
struct Aligned {
  Aligned() : data(std::aligned_alloc(4096, most_at_once)) {}
  ~Aligned() { std::free(data); }
  Aligned(const Aligned&) = delete;
  void* data;
};

}  // namespace

extern "C" {

Error cuFileDriverOpen() { return {0, 0}; }
Error cuFileHandleRegister(void** handle, const Description* description) {
  if (description->type != 1) return {handle_type_invalid, 0};
  *handle = new Handle{description->file.descriptor};
  return {0, 0};
}
void cuFileHandleDeregister(void* handle) { delete static_cast<Handle*>(handle); }
Error cuFileBufRegister(const void* memory, std::size_t, int) {
  ++registrations;
  const std::lock_guard lock(buffers_mutex);
  buffers.insert(memory);
  return {0, 0};
}
Error cuFileBufDeregister(const void* memory) {
  const std::lock_guard lock(buffers_mutex);
  buffers.erase(memory);
  return {0, 0};
}

ssize_t cuFileRead(void* handle, void* memory, std::size_t bytes, off_t at, off_t memory_at) {
  count(memory);
  if (failing) {
    errno = EIO;
    return -1;
  }
  const Aligned staging;
  const ssize_t done = pread(static_cast<Handle*>(handle)->descriptor, staging.data,
                             std::min(bytes, most_at_once), at);
  if (done > 0 && pwrite(device_memory(), staging.data, static_cast<std::size_t>(done),
                         address(memory, memory_at)) != done)
    return -1;
  return done;
}
ssize_t cuFileWrite(void* handle, const void* memory, std::size_t bytes, off_t at,
                    off_t memory_at) {
  count(memory);
  if (failing) {
    errno = EIO;
    return -1;
  }
  const Aligned staging;
  const std::size_t some = std::min(bytes, most_at_once);
  if (pread(device_memory(), staging.data, some, address(memory, memory_at)) !=
      static_cast<ssize_t>(some))
    return -1;
  return pwrite(static_cast<Handle*>(handle)->descriptor, staging.data, some, at);
}

unsigned emulated_cufile_transfers() { return transfers; }
unsigned emulated_cufile_registrations() { return registrations; }
unsigned emulated_cufile_detours() { return detours; }
void emulated_cufile_fails(bool fails) { failing = fails; }
}
