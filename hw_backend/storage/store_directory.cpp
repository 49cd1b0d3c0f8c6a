#include "hw_backend/storage/store_directory.hpp"

#include "hw_backend/storage/io_error.hpp"
#include "hw_backend/storage/store_names.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>

namespace spillway::hw_backend {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t sector = 4096;
constexpr double gib = 1 << 30;

std::string_view file_remedy(int code) {
  switch (code) {
    case EACCES:
    case EPERM:
      return "name a directory that you may write to, or have its owner change";
    case ENOENT:  // of a directory that is there: /proc
      return "its file system makes no directories; name one on a drive's";
    case EROFS:
      return "its file system is read-only: name another directory, or mount -o remount,rw";
    case ENOSPC:
    case EDQUOT:
      return "free space there, or name another directory";
    case EOPNOTSUPP:
    case ENOLCK:
      return "its file system cannot lock files; name a directory on a local drive";
    default:
      return {};
  }
}

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  description::Complaint complaint;
  complaint.path = "--on";
  complaint.message = message;
  complaint.hint = hint;
  throw description::ScenarioError({complaint});
}

[[noreturn]] void refuse_missing(const fs::path& directory) {
  const fs::path absolute = fs::absolute(directory).lexically_normal();
  if (absolute.string().starts_with("/dev/")) {
    refuse(fmt::format("\"{}\" does not exist, and devices are no directories", directory.string()),
           "name a directory on the drive's file system; lsblk shows where drives are mounted");
  }
  fs::path parent =
      absolute.has_filename() ? absolute.parent_path() : absolute.parent_path().parent_path();
  const std::string name = absolute.lexically_relative(parent).string();
  std::error_code unreadable;
  std::vector<std::string> siblings;
  for (const auto& entry : fs::directory_iterator(parent, unreadable)) {
    siblings.push_back(entry.path().filename().string());
  }
  const std::string nearest = description::nearest_name(name, siblings);
  while (!fs::exists(parent, unreadable) && parent.has_relative_path()) {
    parent = parent.parent_path();
  }
  refuse(fmt::format("\"{}\" does not exist", directory.string()),
         nearest.empty()
             ? fmt::format("\"{}\" does; name a directory, or make it first", parent.string())
             : fmt::format("did you mean \"{}\"?", (parent / nearest).string()));
}

/// Throws  ScenarioError, DeviceError: not a directory to keep data in
void check_directory(const fs::path& directory) {
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) refuse_missing(directory);
    throw io_error("stat", errno, directory.string(), file_remedy(errno));
  }
  const std::string shown = '"' + directory.string() + '"';
  if (S_ISBLK(status.st_mode)) {
    refuse(shown + " is a block device",
           "name a directory on it; only --allow-raw SERIAL writes to a device itself");
  }
  if (!S_ISDIR(status.st_mode)) refuse(shown + " is no directory", "name a directory");
  const std::string real = fs::canonical(directory).string() + "/";
  if (real.starts_with("/dev/") && !real.starts_with("/dev/shm/")) {
    refuse(shown + " is where devices are named: files there would fill the memory",
           "name a directory on the drive's file system");
  }
}

std::string random_name() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) {
    throw io_error("getrandom", errno, "the kernel's random numbers");
  }
  return fmt::format("{}{:016x}", store_prefix, random);
}

/// Creates LOCK, locks it, and only then writes what makes it ours.
Descriptor lock_store(const fs::path& path) {
  const fs::path file = path / lock_name;
  Descriptor lock(open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock) throw io_error("open", errno, file.string(), file_remedy(errno));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    throw io_error("flock", errno, file.string(), file_remedy(errno));
  }
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  const std::string text = fmt::format("{}process {}\nboot {}\n", lock_line, getpid(), boot);
  const ssize_t written = write(lock.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) {
    const int code = written < 0 ? errno : ENOSPC;
    throw io_error("write", code, file.string(), file_remedy(code));
  }
  return lock;
}

}  // namespace

StoreFile::StoreFile(fs::path path, std::unique_ptr<Target> target)
    : path_(std::move(path)), target_(std::move(target)) {}

StoreFile::~StoreFile() { unlink(path_.c_str()); }

StoreDirectory::StoreDirectory(const fs::path& directory, std::uint64_t reserve_bytes)
    : directory_(fs::absolute(directory)), reserve_bytes_(reserve_bytes) {
  check_directory(directory);
  removed_ = remove_leftovers(directory);
  path_ = directory_ / random_name();
  if (mkdir(path_.c_str(), 0700) != 0) {
    throw io_error("mkdir", errno, path_.string(), file_remedy(errno));
  }
  try {
    lock_ = lock_store(path_);
  } catch (...) {
    unlink((path_ / lock_name).c_str());
    rmdir(path_.c_str());
    throw;
  }
}

StoreDirectory::~StoreDirectory() {
  const Descriptor parent(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Descriptor store(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  std::uint64_t bytes = 0;
  if (parent && store) remove_store(parent.get(), path_.filename(), store.get(), bytes);
}

bool StoreDirectory::in_memory() const {
  struct statfs status {};
  if (statfs(path_.c_str(), &status) != 0) throw io_error("statfs", errno, path_.string());
  return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
}

std::uint64_t StoreDirectory::room() const {
  struct statvfs status {};
  if (statvfs(path_.c_str(), &status) != 0) throw io_error("statvfs", errno, path_.string());
  const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
  return free > reserve_bytes_ ? free - reserve_bytes_ : 0;
}

void StoreDirectory::require_room(std::uint64_t bytes) const {
  const std::uint64_t left = room();
  if (bytes <= left) return;
  const auto in_gib = [](std::uint64_t amount) { return static_cast<double>(amount) / gib; };
  throw io_error(
      "statvfs", ENOSPC, directory_.string(),
      fmt::format("{:.2f} GiB are needed and {:.2f} GiB left, {:.2f} GiB of the file "
                  "system being kept free; {}",
                  in_gib(bytes), in_gib(left), in_gib(reserve_bytes_), file_remedy(ENOSPC)));
}

std::unique_ptr<StoreFile> StoreDirectory::create(const std::string& name, std::uint64_t bytes,
                                                  bool direct) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_' || letter == '-' || letter == '.';
  });
  ENSURE(plain && !name.empty(), "a store file's name is letters, digits and _-.: " + name);
  const std::uint64_t rounded = std::max<std::uint64_t>((bytes + sector - 1) / sector, 1) * sector;
  require_room(rounded);
  const fs::path path = path_ / (name + std::string(file_suffix));
  Descriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) throw io_error("open", errno, path.string(), file_remedy(errno));
  const int code = posix_fallocate(fd.get(), 0, static_cast<off_t>(rounded));
  if (code != 0) {
    unlink(path.c_str());
    throw io_error("posix_fallocate", code, path.string(), file_remedy(code));
  }
  return std::make_unique<StoreFile>(
      path, std::make_unique<Target>(std::move(fd), path.string(), Access::read_write, direct));
}

}  // namespace spillway::hw_backend
