#include "hw_backend/probe/usable_memory.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace spillway::hw_backend {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

std::uint64_t available(const fs::path& root) {
  std::ifstream in(root / "proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("MemAvailable:")) return std::stoull(line.substr(13)) * 1024;
  return no_limit;
}

/// The number in `file`; none where it is missing or says "max".
std::uint64_t limit_in(const fs::path& file) {
  std::uint64_t limit = 0;
  return std::ifstream(file) >> limit ? limit : no_limit;
}

/// The smallest limit of a group and those above it. What is mounted at `mount` may be a group
/// further down (in containers), whose files then lie there.
std::uint64_t limit_of(const fs::path& mount, fs::path group, const char* file) {
  std::uint64_t limit = limit_in(mount / file);
  for (group = group.relative_path(); !group.empty(); group = group.parent_path())
    limit = std::min(limit, limit_in(mount / group / file));
  return limit;
}

}  // namespace

void require_memory_to_probe(std::uint64_t usable) {
  constexpr std::uint64_t mib = 1 << 20;
  // what all parts take at once, with the process: 465 MiB were measured, some more are kept free
  constexpr std::uint64_t needed = 512 * mib;
  if (usable >= needed) return;
  throw description::DeviceError("measuring needs " + std::to_string(needed / mib) +
                                 " MiB of memory and " + std::to_string(usable / mib) +
                                 " MiB are available; free some, or raise the control group's "
                                 "limit (memory.max)");
}

std::uint64_t usable_memory(const fs::path& root) {
  std::uint64_t usable = available(root);
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:memory:/user", "0::/user.slice"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    const fs::path mounts = root / "sys/fs/cgroup";
    if (controllers == ",,") {
      usable = std::min(usable, limit_of(mounts, group, "memory.max"));
      usable = std::min(usable, limit_of(mounts / "unified", group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      usable = std::min(usable, limit_of(mounts / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return usable;
}

}  // namespace spillway::hw_backend
