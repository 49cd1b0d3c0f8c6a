#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "tests/hw_backend/cuda/emulated/cuda_runtime.h"

namespace {

constexpr std::size_t filled_bytes = std::size_t{64} << 20;  // more takes its time
constexpr std::size_t grain = 256;                           // of addresses, as cudaMalloc's
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t all_bytes = emulated::device_bytes * emulated::devices;

/// Memory of all devices in one range of addresses. The processor may use it only while a kernel or
/// copy runs: who takes a pointer of a GPU for one of the host crashes here, too.
class DeviceRange {
 public:
  DeviceRange() {
    void* const memory = mmap(nullptr, all_bytes + huge_page, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    first_ = static_cast<char*>(memory) + (huge_page - address % huge_page) % huge_page;
    madvise(first_, all_bytes, MADV_HUGEPAGE);  // protection changes by the page
  }
  char* of(int device) const { return first_ + static_cast<std::size_t>(device) * device_bytes; }
  void begin_work() {
    const std::lock_guard lock(mutex_);
    if (working_++ == 0) allow(PROT_READ | PROT_WRITE);
  }
  void end_work() {
    const std::lock_guard lock(mutex_);
    if (--working_ == 0) allow(PROT_NONE);
  }

 private:
  void allow(int what) const {
    if (mprotect(first_, all_bytes, what) != 0) std::abort();
  }
  static constexpr std::size_t device_bytes = emulated::device_bytes;
  char* first_ = nullptr;
  std::mutex mutex_;
  int working_ = 0;
};

/// Never destroyed: streams of other static objects may outlive it.
DeviceRange& device_range() {
  static DeviceRange* const range = new DeviceRange;
  return *range;
}

struct Allocation {
  std::size_t bytes;
  int device;  ///< -1: registered host memory
};
std::mutex mutex;
std::map<const char*, Allocation> blocks;
std::size_t malloc_calls = 0, registration_calls = 0, pageable = 0;
std::size_t most_bytes = emulated::device_bytes;
std::set<std::pair<int, const void*>> loaded;  ///< kernels, by device

/// Under the mutex.
std::size_t used_bytes(int device) {
  std::size_t used = 0;
  for (const auto& [place, block] : blocks) used += block.device == device ? block.bytes : 0;
  for (const auto& [where, kernel] : loaded) used += where == device ? emulated::kernel_bytes : 0;
  return used;
}

bool is_known(const void* memory) {
  const auto* const at = static_cast<const char*>(memory);
  const auto next = blocks.upper_bound(at);
  return next != blocks.begin() && at < std::prev(next)->first + std::prev(next)->second.bytes;
}

/// The first room for `bytes` on the device; null: none.
char* find_room(int device, std::size_t bytes) {
  char* const first = device_range().of(device);
  char* place = first;
  for (auto each = blocks.lower_bound(first);
       each != blocks.end() && each->first < first + emulated::device_bytes; ++each) {
    if (static_cast<std::size_t>(each->first - place) >= bytes) return place;
    place = first + (each->first - first) + each->second.bytes;
  }
  const auto left = static_cast<std::size_t>(first + emulated::device_bytes - place);
  return left >= bytes ? place : nullptr;
}

}  // namespace

emulated::DeviceWork::DeviceWork() { device_range().begin_work(); }
emulated::DeviceWork::~DeviceWork() { device_range().end_work(); }

std::size_t emulated::mallocs() {
  const std::lock_guard lock(mutex);
  return malloc_calls;
}

void emulated::forget_memory() {
  const std::lock_guard lock(mutex);
  blocks.clear();
  loaded.clear();
}
std::size_t emulated::registrations() {
  const std::lock_guard lock(mutex);
  return registration_calls;
}
std::size_t emulated::pageable_copies() {
  const std::lock_guard lock(mutex);
  return pageable;
}
void emulated::limit_memory(std::size_t bytes) {
  const std::lock_guard lock(mutex);
  most_bytes = bytes == 0 ? device_bytes : bytes;
}
cudaError_t emulated::load_kernel(int device, const void* kernel) {
  const std::lock_guard lock(mutex);
  if (loaded.contains({device, kernel})) return cudaSuccess;
  if (used_bytes(device) + kernel_bytes > most_bytes) return cudaErrorMemoryAllocation;
  loaded.insert({device, kernel});
  return cudaSuccess;
}
void emulated::count_copy(const void* one, const void* other) {
  const std::lock_guard lock(mutex);
  pageable += !is_known(one) || !is_known(other);
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  *memory = std::malloc(bytes);
  const std::lock_guard lock(mutex);
  blocks[static_cast<const char*>(*memory)] = {bytes, -1};
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  const cudaError_t fault = emulated::begin_call();
  {
    const std::lock_guard lock(mutex);
    blocks.erase(static_cast<const char*>(memory));
  }
  std::free(memory);
  return fault;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  const int device = emulated::current_device();
  const std::lock_guard lock(mutex);
  *total = most_bytes;
  *free = most_bytes - std::min(most_bytes, used_bytes(device));
  return cudaSuccess;
}

/// What is in it is no number of any type, so that who forgets to write it does not find zeros.
cudaError_t cudaMalloc(void** memory, std::size_t asked) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  const int device = emulated::current_device();
  const std::size_t bytes = (std::max<std::size_t>(asked, 1) + grain - 1) / grain * grain;
  {
    const std::lock_guard lock(mutex);
    ++malloc_calls;
    char* const place = find_room(device, bytes);
    if (!place || used_bytes(device) + bytes > most_bytes) return cudaErrorMemoryAllocation;
    blocks[place] = {bytes, device};
    *memory = place;
  }
  const emulated::DeviceWork open;
  std::memset(*memory, 0xFF, std::min(bytes, filled_bytes));
  return cudaSuccess;
}

/// Waits for the device, as CUDA does.
cudaError_t cudaFree(void* memory) {
  const cudaError_t fault = emulated::begin_call();
  emulated::wait_for_streams();
  const std::lock_guard lock(mutex);
  const auto found = blocks.find(static_cast<const char*>(memory));
  if (found == blocks.end() || found->second.device < 0) return cudaErrorInvalidValue;
  blocks.erase(found);
  return fault;
}

cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  const std::lock_guard lock(mutex);
  ++registration_calls;
  const bool added = blocks.insert({static_cast<const char*>(memory), {bytes, -1}}).second;
  return added ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}

cudaError_t cudaHostUnregister(void* memory) {
  const cudaError_t fault = emulated::begin_call();
  const std::lock_guard lock(mutex);
  ++registration_calls;
  const bool known = blocks.erase(static_cast<const char*>(memory)) == 1;
  return known ? fault : cudaErrorInvalidValue;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  if (const cudaError_t fault = emulated::begin_call()) return fault;
  const std::lock_guard lock(mutex);
  *attributes = {};
  const auto* const at = static_cast<const char*>(memory);
  auto found = blocks.upper_bound(at);
  if (found == blocks.begin()) return cudaSuccess;
  --found;
  if (at >= found->first + found->second.bytes) return cudaSuccess;
  const bool host = found->second.device < 0;
  *attributes = {host ? cudaMemoryTypeHost : cudaMemoryTypeDevice, found->second.device};
  return cudaSuccess;
}
