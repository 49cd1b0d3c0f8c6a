#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "hw_backend/raw_device/block_layer.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

[[noreturn]] void fail(const char* call, int code, std::uint64_t offset) {
  throw description::DeviceError(fmt::format("{} of a raw device at byte {}: {} ({})", call, offset,
                                             strerrorname_np(code), std::strerror(code)));
}

std::optional<DeviceNumber> block_number(const struct stat& status) {
  if (!S_ISBLK(status.st_mode)) return std::nullopt;
  return DeviceNumber{major(status.st_rdev), minor(status.st_rdev)};
}

template <class Value>
Value asked(int fd, unsigned long request, const char* name) {
  Value value = 0;
  if (ioctl(fd, request, &value) != 0) fail(name, errno, 0);
  return value;
}

/// Repeats `call(done)`, which moves some of `bytes`, until all are moved.
template <class Call>
void whole(const char* name, std::uint64_t offset, std::size_t bytes, Call call) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t moved = call(done);
    if (moved > 0) {
      done += static_cast<std::size_t>(moved);
    } else if (moved == 0) {
      fail(name, EIO, offset + done);
    } else if (errno != EINTR && errno != EAGAIN) {
      fail(name, errno, offset + done);
    }
  }
}

}  // namespace

std::string to_string(DeviceNumber number) {
  return fmt::format("{}:{}", number.major, number.minor);
}

std::optional<DeviceNumber> SystemBlockLayer::number_of(const std::filesystem::path& path) const {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? block_number(status) : std::nullopt;
}

std::optional<DeviceNumber> SystemBlockLayer::number_of(int fd) const {
  struct stat status {};
  return fstat(fd, &status) == 0 ? block_number(status) : std::nullopt;
}

Opened SystemBlockLayer::open_exclusive(const std::filesystem::path& path) const {
  const int fd = open(path.c_str(), O_RDWR | O_EXCL | O_DIRECT | O_CLOEXEC);
  return {fd, fd < 0 ? errno : 0};
}

bool SystemBlockLayer::read_only(int fd) const { return asked<int>(fd, BLKROGET, "BLKROGET") != 0; }

std::uint64_t SystemBlockLayer::size(int fd) const {
  return asked<std::uint64_t>(fd, BLKGETSIZE64, "BLKGETSIZE64");
}

std::uint32_t SystemBlockLayer::logical_block(int fd) const {
  return static_cast<std::uint32_t>(asked<int>(fd, BLKSSZGET, "BLKSSZGET"));
}

std::vector<std::string> SystemBlockLayer::signatures(int fd) const {
  // libblkid reads into memory that direct transfers refuse.
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_DIRECT) != 0) fail("fcntl", errno, 0);
  std::vector<std::string> found = signatures_of(fd);
  if (fcntl(fd, F_SETFL, flags) != 0) fail("fcntl", errno, 0);
  return found;
}

void SystemBlockLayer::read(int fd, std::uint64_t offset, std::span<std::byte> into) const {
  whole("pread", offset, into.size(), [&](std::size_t done) {
    return pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
  });
}

void SystemBlockLayer::write(int fd, std::uint64_t offset, std::span<const std::byte> from) const {
  whole("pwrite", offset, from.size(), [&](std::size_t done) {
    return pwrite(fd, from.data() + done, from.size() - done, static_cast<off_t>(offset + done));
  });
}

}  // namespace spillway::hw_backend
