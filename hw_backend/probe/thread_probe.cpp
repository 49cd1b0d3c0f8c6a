#include "hw_backend/probe/parts.hpp"
#include "hw_backend/storage/io_error.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <fstream>
#include <vector>

namespace spillway::hw_backend {

using description::BytesPerSecond;
using description::Seconds;

namespace {

constexpr std::size_t fresh_bytes = std::size_t{64} << 20;
constexpr std::size_t page = 4096;
constexpr std::size_t block = std::size_t{64} << 20;  // beyond any cache

/// Memory that the system gives now and takes back at the end: a byte of each page is written.
double touch_fresh() {
  void* const memory =
      mmap(nullptr, fresh_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw io_error("mmap", errno, "64 MiB");
  auto* const bytes = static_cast<volatile char*>(memory);
  for (std::size_t at = 0; at < fresh_bytes; at += page) bytes[at] = 1;
  munmap(memory, fresh_bytes);
  return static_cast<double>(fresh_bytes);
}

/// A file's block to the page cache and back again.
double pass_cache(int fd, const std::string& name, std::vector<char>& memory) {
  if (pwrite(fd, memory.data(), block, 0) != static_cast<ssize_t>(block))
    throw io_error("pwrite", errno, name);
  if (pread(fd, memory.data(), block, 0) != static_cast<ssize_t>(block))
    throw io_error("pread", errno, name);
  return 2 * static_cast<double>(block);
}

/// A share that sysctl knows in percent; 0 where bytes are set in its place.
double sysctl_share(const char* name, double otherwise) {
  double percent = 0;
  std::ifstream(std::string("/proc/sys/vm/") + name) >> percent;
  return percent > 0 ? percent / 100 : otherwise;
}

}  // namespace

void probe_threads(Session& session, StoreDirectory* directory) {
  session.begin("pages", 2 * session.interval_s() * Session::intervals);
  description::HostSpec& host = session.out().machine.host;
  host.first_touch = BytesPerSecond(session.keep(
      session.rate("host.first_touch", "a byte of each page of 64 MiB that are new, one thread",
                   Unit::bytes_per_second, touch_fresh)));
  if (directory) {
    const auto file = directory->create("pages", block, false);
    std::vector<char> memory(block, 1);
    host.page_cache = BytesPerSecond(session.keep(session.rate(
        "host.page_cache", "64 MiB to the page cache and back, one thread", Unit::bytes_per_second,
        [&] { return pass_cache(file->target().fd(), file->target().name(), memory); })));
    session.out().bytes_written += block;
  } else {
    host.page_cache = BytesPerSecond(3e9);
    session.source("host.page_cache", "assumed: 3 GB/s, no directory was asked for");
  }
  host.dirty_background = sysctl_share("dirty_background_ratio", 0.1);
  host.dirty_limit = std::max(sysctl_share("dirty_ratio", 0.2), host.dirty_background);
  session.source("host.dirty_background", "measured: vm.dirty_background_ratio");
  session.source("host.dirty_limit", "measured: vm.dirty_ratio");
  const bool shares = session.out().machine.gpu.shares_host;
  host.launch = Seconds(0);
  host.module_hooks = Seconds(0);
  for (const char* field : {"host.launch", "host.module_hooks"})
    session.source(field, shares ? "measured: the host device launches nothing"
                                 : "assumed: gpu.launch holds what this program takes");
}

}  // namespace spillway::hw_backend
