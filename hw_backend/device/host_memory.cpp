#include "hw_backend/device/host_memory.hpp"

#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/storage/io_error.hpp"
#include "scenarios/description/errors.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string>

namespace spillway::hw_backend {

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t huge_page = 2u << 20;
/// Made present in one call: some tens of milliseconds, after which an interrupt is looked for.
constexpr std::uint64_t piece = 64u << 20;

std::uint64_t in_pages(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + page - 1) / page * page;
}

/// The numbers of kB behind keys in a file of /proc, as bytes; 0 where one is not. It is read once:
/// of some files the kernel walks all of the process's memory.
template <std::size_t n>
std::array<std::uint64_t, n> fields(const char* file, const std::array<std::string, n>& keys) {
  std::array<std::uint64_t, n> found{};
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    for (std::size_t i = 0; i < n; ++i)
      if (line.starts_with(keys[i] + ":"))
        found[i] = std::stoull(line.substr(keys[i].size() + 1)) * 1024;
  return found;
}

/// Makes all of it present, in pieces; then locks it, if asked for, in one call: what is present is
/// locked at once, and locking in pieces would leave no large page across their ends.
///   Result  0 or errno
///   Throws  Interrupted
int populate(std::byte* memory, std::uint64_t bytes, bool locked) {
  for (std::uint64_t done = 0; done < bytes;) {
    stop_if_interrupted();
    const std::uint64_t more = std::min(piece, bytes - done);
    if (madvise(memory + done, more, MADV_POPULATE_WRITE) == 0)
      done += more;
    else if (errno != EINTR)
      return errno;
  }
  return !locked || mlock(memory, bytes) == 0 ? 0 : errno;
}

}  // namespace

HostMemory::HostMemory(MemoryBudget& budget, bool locked, MemoryWatch watch)
    : budget_(budget), locked_(locked), watch_(std::move(watch)) {
  budget_.members_.push_back(this);
}

HostMemory::~HostMemory() {
  while (!kept_by_size_.empty()) budget_.kept_ -= unmap_one();
  std::erase(budget_.members_, this);
}

/// Gives the smallest kept block back to the kernel: its bytes.
std::uint64_t HostMemory::unmap_one() {
  const auto first = kept_by_size_.begin();
  const std::uint64_t bytes = first->first;
  if (watch_.goes) watch_.goes(first->second.back());
  munmap(first->second.back(), bytes);
  first->second.pop_back();
  if (first->second.empty()) kept_by_size_.erase(first);
  return bytes;
}

/// Until `bytes` more do not make the process grow beyond what was in use at once, or is allowed.
void MemoryBudget::make_room(std::uint64_t bytes) {
  const std::uint64_t most = std::max({most_used_, used_ + bytes, allowed_});
  for (HostMemory* member : members_)
    while (used_ + kept_ + bytes > most && !member->kept_by_size_.empty())
      kept_ -= member->unmap_one();
}

/// Result  false: nothing was kept
bool MemoryBudget::give_back_all() {
  if (kept_ == 0) return false;
  for (HostMemory* member : members_)
    while (!member->kept_by_size_.empty()) kept_ -= member->unmap_one();
  return true;
}

std::byte* HostMemory::map(std::uint64_t bytes) {
  // large pages save faults, and time in the page tables of pinned memory
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw io_error("mmap", errno, std::to_string(bytes) + " bytes of host memory");
  if (bytes >= huge_page) madvise(memory, bytes, MADV_HUGEPAGE);
  try {
    if (const int code = populate(static_cast<std::byte*>(memory), bytes, locked_))
      throw io_error(locked_ ? "mlock" : "madvise(MADV_POPULATE_WRITE)", code,
                     std::to_string(bytes) + " bytes of host memory",
                     locked_ ? "raise the limit: ulimit -l unlimited" : "free some memory first");
    if (watch_.came) watch_.came(static_cast<std::byte*>(memory), bytes);
  } catch (...) {
    munmap(memory, bytes);
    throw;
  }
  return static_cast<std::byte*>(memory);
}

std::byte* HostMemory::take(std::uint64_t asked) {
  const std::uint64_t bytes = in_pages(asked);
  const auto kept = kept_by_size_.find(bytes);
  std::byte* memory = nullptr;
  if (kept != kept_by_size_.end()) {
    memory = kept->second.back();
    kept->second.pop_back();
    budget_.kept_ -= bytes;
    if (kept->second.empty()) kept_by_size_.erase(kept);
  } else {
    budget_.make_room(bytes);
    try {
      memory = map(bytes);
    } catch (const description::DeviceError&) {
      if (!budget_.give_back_all()) throw;
      memory = map(bytes);
    }
  }
  budget_.used_ += bytes;
  budget_.most_used_ = std::max(budget_.most_used_, budget_.used_);
  return memory;
}

void HostMemory::give_back(std::byte* memory, std::uint64_t asked) {
  const std::uint64_t bytes = in_pages(asked);
  budget_.used_ -= bytes;
  budget_.kept_ += bytes;
  kept_by_size_[bytes].push_back(memory);
}

ProcessMemory process_memory() {
  const auto [resident, locked] =
      fields<2>("/proc/self/smaps_rollup", {std::string("Rss"), std::string("Locked")});
  return {resident, locked};
}

std::uint64_t most_resident() {
  return fields<1>("/proc/self/status", {std::string("VmHWM")}).front();
}

void forget_most() {
  std::ofstream refs("/proc/self/clear_refs");
  refs << "5\n";
}

}  // namespace spillway::hw_backend
