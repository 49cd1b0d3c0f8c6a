#include "hw_backend/storage/target.hpp"

#include "hw_backend/storage/io_error.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

namespace spillway::hw_backend {
namespace {

// Every disk in use today has sectors of one of these sizes.
constexpr std::uint32_t small_sector = 512;
constexpr std::uint32_t large_sector = 4096;

bool set_direct(int fd, bool direct) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

/// Does a direct read of one small sector work?
bool reads_small_sectors(int fd) {
  const std::unique_ptr<void, void (*)(void*)> memory(
      std::aligned_alloc(large_sector, large_sector), std::free);
  return pread(fd, static_cast<char*>(memory.get()) + small_sector, small_sector, small_sector) >=
         0;
}

/// As the kernel states it (6.1 and later), else by trying; nothing where O_DIRECT cannot be used.
///   fd  has O_DIRECT
Alignment direct_alignment(int fd, const struct stat& status, bool& possible) {
  struct statx more {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &more) == 0 &&
      (more.stx_mask & STATX_DIOALIGN) != 0) {
    possible = more.stx_dio_offset_align != 0;
    return {more.stx_dio_mem_align, more.stx_dio_offset_align};
  }
  int sector = 0;
  if (S_ISBLK(status.st_mode) && ioctl(fd, BLKSSZGET, &sector) == 0) {
    return {static_cast<std::uint32_t>(sector), static_cast<std::uint32_t>(sector)};
  }
  return reads_small_sectors(fd) ? Alignment{small_sector, small_sector}
                                 : Alignment{large_sector, large_sector};
}

}  // namespace

Target::Target(Descriptor fd, std::string name, Access access, bool direct, std::uint64_t most)
    : fd_(std::move(fd)), name_(std::move(name)), access_(access) {
  struct stat status {};
  if (fstat(fd_.get(), &status) != 0) throw io_error("fstat", errno, name_);
  size_ = static_cast<std::uint64_t>(status.st_size);
  device_ = status.st_dev;
  if (S_ISBLK(status.st_mode)) {
    device_ = status.st_rdev;
    if (ioctl(fd_.get(), BLKGETSIZE64, &size_) != 0) throw io_error("ioctl", errno, name_);
  }
  size_ = std::min(size_, most);
  if (direct && set_direct(fd_.get(), true)) {
    direct_ = true;
    alignment_ = direct_alignment(fd_.get(), status, direct_);
    direct_ = direct_ && size_ % alignment_.offset == 0;
  }
  if (!direct_) {
    alignment_ = {};
    if (!set_direct(fd_.get(), false)) throw io_error("fcntl", errno, name_);
  }
}

Target Target::open(const std::filesystem::path& path, Access access, bool direct) {
  const int mode = access == Access::read ? O_RDONLY : O_RDWR;
  Descriptor fd(::open(path.c_str(), mode | O_CLOEXEC));
  if (!fd) throw io_error("open", errno, path.string());
  return Target(std::move(fd), path.string(), access, direct);
}

std::string Target::short_name() const { return std::filesystem::path(name_).filename().string(); }

}  // namespace spillway::hw_backend
