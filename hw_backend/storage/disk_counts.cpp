#include "hw_backend/storage/disk_counts.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <algorithm>
#include <fstream>
#include <sstream>

namespace spillway::hw_backend {
namespace {

namespace fs = std::filesystem;

// The unit of /proc/diskstats, whatever the disk's sectors are.
constexpr std::uint64_t counted_sector = 512;

}  // namespace

DiskCounts operator-(const DiskCounts& after, const DiskCounts& before) {
  return {after.disk, after.bytes_read - before.bytes_read,
          after.bytes_written - before.bytes_written};
}

std::optional<DiskCounts> read_disk_counts(const fs::path& path, const fs::path& root) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  const dev_t device = S_ISBLK(status.st_mode) ? status.st_rdev : status.st_dev;
  return read_disk_counts(major(device), minor(device), root);
}

std::optional<DiskCounts> read_disk_counts(unsigned major_number, unsigned minor_number,
                                           const fs::path& root) {
  std::error_code missing;
  fs::path device = fs::canonical(
      root / "sys/dev/block" / fmt::format("{}:{}", major_number, minor_number), missing);
  if (missing) return {};
  if (fs::exists(device / "partition", missing)) device = device.parent_path();
  std::string name = device.filename().string();
  std::replace(name.begin(), name.end(), '!', '/');  // as sysfs writes "cciss/c0d0"

  std::ifstream stats(root / "proc/diskstats");
  for (std::string line; std::getline(stats, line);) {
    std::istringstream fields(line);
    std::string found;
    unsigned numbers = 0;
    std::uint64_t reads = 0, merged = 0, read = 0, read_ms = 0, writes = 0, wrote = 0;
    fields >> numbers >> numbers >> found >> reads >> merged >> read >> read_ms >> writes >>
        merged >> wrote;
    if (fields && found == name) {
      return DiskCounts{name, read * counted_sector, wrote * counted_sector};
    }
  }
  return {};
}

}  // namespace spillway::hw_backend
