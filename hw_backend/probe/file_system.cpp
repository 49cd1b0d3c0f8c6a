#include "hw_backend/probe/file_system.hpp"

#include "hw_backend/storage/disk_counts.hpp"
#include "hw_backend/storage/io_error.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

namespace spillway::hw_backend {

namespace fs = std::filesystem;

namespace {

/// Of linux/magic.h, and of file systems that keep theirs to themselves: NFS, SMB (three
/// versions), Lustre, Ceph, GPFS, BeeGFS, OrangeFS, AFS, Coda, 9P. FUSE is none of them: its file
/// systems may lie on a drive as well.
constexpr std::array<long, 13> remote_magic{
    0x6969,     0x517B,     0xFF534D42, 0xFE534D42, 0x0BD00BD0, 0x00C36400, 0x47504653,
    0x19830326, 0x20030528, 0x5346414F, 0x73757245, 0x01021997, 0x6B414653};

}  // namespace

description::StorageKind kind_of_magic(long magic) {
  const bool remote = std::find(remote_magic.begin(), remote_magic.end(), magic & 0xFFFFFFFFL) !=
                      remote_magic.end();
  return remote ? description::StorageKind::remote : description::StorageKind::ssd;
}

FileSystem file_system_of(const fs::path& directory) {
  struct statfs system {};
  struct stat status {};
  if (statfs(directory.c_str(), &system) != 0) throw io_error("statfs", errno, directory.string());
  if (stat(directory.c_str(), &status) != 0) throw io_error("stat", errno, directory.string());
  FileSystem found;
  found.kind = kind_of_magic(static_cast<long>(system.f_type));
  found.device = status.st_dev;
  if (const auto counts = read_disk_counts(directory)) found.disk = counts->disk;
  return found;
}

std::vector<std::string> storage_names(const std::vector<fs::path>& directories) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const fs::path& directory : directories) {
    fs::path whole = fs::absolute(directory).lexically_normal();
    if (!whole.has_filename()) whole = whole.parent_path();
    std::string base = whole.filename().string();
    // a name is part of dotted paths
    for (char& letter : base)
      if (letter == '.' || letter == '[' || letter == ']' || letter == '=') letter = '_';
    if (base.empty() || base == "/") base = "root";
    std::string name = base;
    for (int i = 2; !taken.insert(name).second; ++i) name = base + "-" + std::to_string(i);
    names.push_back(name);
  }
  return names;
}

}  // namespace spillway::hw_backend
