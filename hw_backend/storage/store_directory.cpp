#include "hw_backend/storage/store_directory.hpp"

#include "hw_backend/storage/io_error.hpp"
#include "hw_backend/storage/store_names.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <algorithm>
#include <cctype>
#include <cerrno>

namespace spillway::hw_backend {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t sector = 4096;
constexpr double gib = 1 << 30;
/// Allocated in one call: a moment on a drive, a second or so in memory.
constexpr std::uint64_t piece = std::uint64_t{1} << 30;
/// Of names for a store; each may be taken, or removed by another start before it is locked.
constexpr int tries = 16;

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
    case EFBIG:
      return "raise the limit of a file's size: ulimit -f unlimited";
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

std::string lock_text() {
  utsname system{};
  uname(&system);
  return fmt::format("{}process {}\nboot {}\nhost {}\n", lock_line, getpid(), boot_id(),
                     system.nodename);
}

bool lies_on(int fd, long magic) {
  struct statfs status {};
  return fstatfs(fd, &status) == 0 && status.f_type == magic;
}

/// btrfs writes each block to a new place, which may not be there; not of such a file. Without the
/// flag (where a directory asks for compression) it stays as it is.
void write_in_place(int fd) {
  int flags = 0;
  if (!lies_on(fd, BTRFS_SUPER_MAGIC) || ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0) return;
  flags |= FS_NOCOW_FL;
  ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

constexpr std::string_view no_allocation =
    "its file system does not set space aside, so that a run could end in the middle for want of "
    "it; name a directory on ext4, XFS, btrfs or tmpfs";

}  // namespace

StoreFile::StoreFile(std::shared_ptr<const Descriptor> directory, fs::path path,
                     std::unique_ptr<Target> target)
    : directory_(std::move(directory)), path_(std::move(path)), target_(std::move(target)) {}

StoreFile::~StoreFile() {
  remove_made(directory_->get(), path_.filename(), identity_of(target_->fd()));
}

StoreDirectory::StoreDirectory(const fs::path& directory, std::uint64_t reserve_bytes,
                               std::function<void()> look)
    : directory_(fs::absolute(directory)), reserve_bytes_(reserve_bytes), look_(std::move(look)) {
  check_directory(directory);
  OwnFolder opened = open_own_folder(directory);
  if (!opened.refusal.empty())
    refuse(opened.refusal + ", so that what is written there may become something else",
           shared_folder_remedy);
  if (!opened) throw io_error("open", opened.error, directory.string(), file_remedy(opened.error));
  folder_ = std::move(opened.folder);
  removed_ = remove_leftovers(folder_.get(), directory_.string());
  make_store();
}

/// Another start that looks for leftovers may take the new folder for one until it is locked.
void StoreDirectory::make_store() {
  int error = 0;
  for (int i = 0; i < tries; ++i) {
    const std::string name = std::string(store_prefix) + random_digits();
    path_ = directory_ / name;
    if (mkdirat(folder_.get(), name.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;
      throw io_error("mkdir", errno, path_.string(), file_remedy(errno));
    }
    Descriptor store(
        openat(folder_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!store && errno == ENOENT) continue;
    if (!store) {
      error = errno;
      unlinkat(folder_.get(), name.c_str(), AT_REMOVEDIR);
      throw io_error("open", error, path_.string(), file_remedy(error));
    }
    store_ = std::make_shared<const Descriptor>(std::move(store));
    if (!names_in(store_->get(), error).empty())
      throw io_error("mkdir", EEXIST, path_.string(), "somebody else put something in its place");
    error = lock_store();
    if (error == 0) return;
    remove_made(folder_.get(), name, identity_of(store_->get()), true);
    if (error != ENOENT && error != EWOULDBLOCK)
      throw io_error("open or flock", error, (path_ / lock_name).string(), file_remedy(error));
  }
  throw io_error("mkdir", error ? error : EEXIST, path_.string(), "run again");
}

/// Creates LOCK, locks it, and only then writes what makes it ours.
///   Result  0 or errno, with nothing left in the store
int StoreDirectory::lock_store() {
  Descriptor lock(
      openat(store_->get(), lock_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock) return errno;
  int error = flock(lock.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  const std::string text = lock_text();
  if (error == 0) {
    const ssize_t written = write(lock.get(), text.data(), text.size());
    if (written != static_cast<ssize_t>(text.size())) error = written < 0 ? errno : ENOSPC;
  }
  if (error == 0)
    lock_ = std::move(lock);
  else
    remove_made(store_->get(), lock_name, identity_of(lock.get()));
  return error;
}

/// A store in which somebody else has put a file stays, with its LOCK.
StoreDirectory::~StoreDirectory() {
  int error = 0;
  const std::vector<std::string> names = names_in(store_->get(), error);
  if (error != 0 || names.size() > 1) return;
  remove_made(store_->get(), lock_name, identity_of(lock_.get()));
  remove_made(folder_.get(), path_.filename(), identity_of(store_->get()), true);
}

bool StoreDirectory::in_memory() const {
  return lies_on(store_->get(), TMPFS_MAGIC) || lies_on(store_->get(), RAMFS_MAGIC);
}

bool StoreDirectory::direct() { return make_file("direct", sector, true)->target().direct(); }

std::uint64_t StoreDirectory::room() const {
  struct statvfs status {};
  if (fstatvfs(store_->get(), &status) != 0) throw io_error("statvfs", errno, path_.string());
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
  return make_file(name, rounded, direct);
}

std::unique_ptr<StoreFile> StoreDirectory::make_file(const std::string& name, std::uint64_t bytes,
                                                     bool direct) {
  const fs::path path = path_ / (name + std::string(file_suffix));
  Descriptor fd(openat(store_->get(), path.filename().c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) throw io_error("open", errno, path.string(), file_remedy(errno));
  const Identity made = identity_of(fd.get());
  try {
    allocate(fd.get(), path, bytes);
    return std::make_unique<StoreFile>(
        store_, path,
        std::make_unique<Target>(std::move(fd), path.string(), Access::read_write, direct));
  } catch (...) {
    remove_made(store_->get(), path.filename(), made);
    throw;
  }
}

/// A file system may say yes and set nothing aside (ZFS): then the file has no blocks.
void StoreDirectory::allocate(int fd, const fs::path& path, std::uint64_t bytes) const {
  write_in_place(fd);
  for (std::uint64_t done = 0; done < bytes;) {
    if (look_) look_();
    const std::uint64_t more = std::min(piece, bytes - done);
    if (fallocate(fd, 0, static_cast<off_t>(done), static_cast<off_t>(more)) == 0) {
      done += more;
    } else if (errno == EOPNOTSUPP || errno == ENOSYS) {
      throw io_error("fallocate", errno, path.string(), no_allocation);
    } else if (errno != EINTR) {
      throw io_error("fallocate", errno, path.string(), file_remedy(errno));
    }
  }
  struct stat status {};
  if (fstat(fd, &status) != 0) throw io_error("fstat", errno, path.string());
  if (static_cast<std::uint64_t>(status.st_blocks) * 512 < bytes)
    throw io_error("fallocate", EOPNOTSUPP, path.string(), no_allocation);
}

}  // namespace spillway::hw_backend
