#include "hw_backend/storage/limits.hpp"

#include "hw_backend/storage/io_error.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace spillway::hw_backend {
namespace {

// The program's own files, libraries that are being loaded, the rings.
constexpr std::uint64_t other_files = 64;
// Linux counts them with the buffers registered in them.
constexpr std::uint64_t rings_bytes = 1 << 20;
constexpr std::uint64_t all_users = 4294967295;

/// The value of a line "Name:  value" of /proc/self/status, in the base given; 0: not there.
std::uint64_t status_value(const std::string& name, int base) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":"))
      return std::stoull(line.substr(name.size() + 1), nullptr, base);
  }
  return 0;
}

/// Of the machine's own user namespace: the kernel asks for no other.
bool may_lock_anything() {
  constexpr unsigned cap_ipc_lock = 14;
  std::uint64_t inside = 0, outside = 0, users = 0;
  std::ifstream("/proc/self/uid_map") >> inside >> outside >> users;
  return users == all_users && (status_value("CapEff", 16) >> cap_ipc_lock & 1) != 0;
}

/// Raises the soft limit as far as is needed and allowed; false: the hard one is too low.
bool raise_to(__rlimit_resource which, std::uint64_t needed, std::uint64_t& hard) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0) throw io_error("getrlimit", errno, "limits");
  hard = limit.rlim_max;
  if (limit.rlim_cur >= needed) return true;
  if (hard < needed) return false;
  limit.rlim_cur = needed;
  return setrlimit(which, &limit) == 0;
}

}  // namespace

void check_limits(std::uint64_t pinned_bytes, std::uint64_t files) {
  std::uint64_t hard = 0;
  const std::uint64_t locked = status_value("VmLck", 10) * 1024 + rings_bytes + pinned_bytes;
  if (!may_lock_anything() && !raise_to(RLIMIT_MEMLOCK, locked, hard)) {
    throw io_error(
        "mlock", ENOMEM,
        fmt::format("{} bytes of memory to lock, {} allowed (RLIMIT_MEMLOCK)", locked, hard),
        "ulimit -l unlimited, as root or after \"* hard memlock unlimited\" in "
        "/etc/security/limits.conf; of a service, LimitMEMLOCK=infinity; of a container, "
        "--ulimit memlock=-1");
  }
  const auto open_now = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  const std::uint64_t needed = static_cast<std::uint64_t>(open_now) + files + other_files;
  if (!raise_to(RLIMIT_NOFILE, needed, hard)) {
    throw io_error("open", EMFILE,
                   fmt::format("{} files to have open, {} allowed (RLIMIT_NOFILE)", needed, hard),
                   fmt::format("ulimit -n {0}, as root or after \"* hard nofile {0}\" in "
                               "/etc/security/limits.conf; of a service, LimitNOFILE={0}",
                               needed));
  }
}

}  // namespace spillway::hw_backend
