#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

namespace spillway::hw_backend {

class HostMemory;

/// What several allocators take from the kernel together.
///   Invariant  what they use and keep never exceeds the most that was ever used at once, or what
///              is allowed
class MemoryBudget {
 public:
  MemoryBudget() = default;
  MemoryBudget(const MemoryBudget&) = delete;

  /// From now on they may keep more: up to `bytes` with what is used. For memory that devices know,
  /// and would have to forget and learn again in every step.
  void allow(std::uint64_t bytes) { allowed_ = bytes; }

 private:
  friend class HostMemory;
  void make_room(std::uint64_t bytes);
  bool give_back_all();

  std::vector<HostMemory*> members_;
  std::uint64_t used_ = 0, kept_ = 0, most_used_ = 0, allowed_ = 0;
};

/// Told of all memory when it comes from the kernel and before it goes back: kept memory stays
/// known to devices, so that steps need not make it known again.
struct MemoryWatch {
  std::function<void(std::byte*, std::uint64_t)> came{};
  std::function<void(std::byte*)> goes{};
};

/// Whole pages of memory from the kernel, present from the start, locked where asked for. What is
/// given back is kept for the next request of its size; before the process grows, others go.
/// One thread uses all allocators of a budget.
class HostMemory {
 public:
  /// `budget` outlives it.
  HostMemory(MemoryBudget& budget, bool locked, MemoryWatch watch = {});
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;

  /// Aligned to pages. Contents: anything; zeros when the pages are new.
  ///   Throws  DeviceError: mmap or mlock refuses; what the watch throws
  std::byte* take(std::uint64_t bytes);
  void give_back(std::byte* memory, std::uint64_t bytes);

 private:
  friend class MemoryBudget;
  std::byte* map(std::uint64_t bytes);
  std::uint64_t unmap_one();

  MemoryBudget& budget_;
  bool locked_;
  MemoryWatch watch_;
  std::map<std::uint64_t, std::vector<std::byte*>> kept_by_size_;
};

/// What the kernel counts as this process's memory.
struct ProcessMemory {
  std::uint64_t resident = 0;  ///< Rss of /proc/self/smaps_rollup
  std::uint64_t locked = 0;    ///< Locked of the same
};
ProcessMemory process_memory();
/// The most that was resident: VmHWM of /proc/self/status.
std::uint64_t most_resident();
/// It counts anew from here, where the kernel allows it.
void forget_most();

}  // namespace spillway::hw_backend
