#include "hw_backend/storage/own_folder.hpp"

#include "hw_backend/storage/io_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <array>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <fstream>

namespace spillway::hw_backend {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as the kernel follows in one path
bool any_folder = false;

/// In a namespace that does not know all users (Apptainer, rootless containers) whoever it does not
/// know has one number, root outside of it too: "/" is his.
bool is_unknown(uid_t user) {
  constexpr std::uint64_t all_users = 4294967295;
  std::uint64_t inside = 0, outside = 0, users = 0, unknown = 0;
  std::ifstream("/proc/self/uid_map") >> inside >> outside >> users;
  std::ifstream("/proc/sys/fs/overflowuid") >> unknown;
  return users != all_users && unknown != 0 && user == unknown;
}

bool is_of(uid_t user) { return user == 0 || user == geteuid() || is_unknown(user); }

/// A group of one: where each user has one, it has the user's number.
bool is_own_group(gid_t group) {
  return group == 0 || (group == getegid() && group == static_cast<gid_t>(geteuid()));
}

/// Who else may rename in a folder; "" nobody.
std::string sharer(const struct stat& status) {
  if (!is_of(status.st_uid)) return fmt::format("belongs to another user ({})", status.st_uid);
  if ((status.st_mode & S_ISVTX) != 0) return "";
  if ((status.st_mode & S_IWOTH) != 0) return "may be changed by all users";
  if ((status.st_mode & S_IWGRP) != 0 && !is_own_group(status.st_gid))
    return fmt::format("may be changed by its group ({})", status.st_gid);
  return "";
}

/// Walks a path. Holds the folder reached so far.
class Walk {
 public:
  explicit Walk(const fs::path& path) {
    start(path);
    for (const fs::path& part : path) parts_.push_back(part.string());
    while (!parts_.empty() && (parts_.front() == "/" || parts_.front().empty())) parts_.pop_front();
  }

  /// To the end, or to the folder that the last part lies in.
  OwnFolder to(bool parent) {
    while (ok() && !parts_.empty()) {
      const std::string part = parts_.front();
      parts_.pop_front();
      if (part.empty() || part == ".") continue;
      struct stat status {};
      const bool found = fstatat(at_.folder.get(), part.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
      const bool last = parent && parts_.empty();
      if (last && (!found ? errno == ENOENT : !S_ISLNK(status.st_mode) || is_of_proc())) {
        at_.name = part;
        return std::move(at_);
      }
      if (!found)
        fail(errno);
      else if (S_ISLNK(status.st_mode))
        follow(part, status);
      else
        enter(part);
    }
    if (ok() && parent) fail(EISDIR);  // "/", "..", "a/."
    return std::move(at_);
  }

 private:
  bool ok() const { return at_.error == 0 && at_.refusal.empty(); }
  void fail(int error) {
    at_.error = error;
    at_.folder.close();
  }
  void refuse(const std::string& what) {
    at_.refusal = what;
    at_.folder.close();
  }

  void start(const fs::path& path) {
    shown_ = path.is_absolute() ? "/" : ".";
    take(Descriptor(open(shown_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
  }
  void enter(const std::string& part) {
    Descriptor next(
        openat(at_.folder.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    shown_ = shown_ == "." ? part : shown_ == "/" ? "/" + part : shown_ + "/" + part;
    take(std::move(next));
  }
  void take(Descriptor next) {
    if (!next) return fail(errno);
    struct stat status {};
    if (fstat(next.get(), &status) != 0) return fail(errno);
    const std::string other = any_folder ? "" : sharer(status);
    if (!other.empty()) return refuse(fmt::format("the folder \"{}\" {}", shown_, other));
    at_.folder = std::move(next);
  }
  void follow(const std::string& part, const struct stat& status) {
    if (++links_ > most_links) return fail(ELOOP);
    if (!any_folder && !is_of(status.st_uid))
      return refuse(fmt::format("the link \"{}/{}\" belongs to another user ({})", shown_, part,
                                status.st_uid));
    std::array<char, 4096> text{};
    const ssize_t size = readlinkat(at_.folder.get(), part.c_str(), text.data(), text.size());
    if (size < 0) return fail(errno);
    const fs::path to(std::string(text.data(), static_cast<std::size_t>(size)));
    std::deque<std::string> parts;
    for (const fs::path& each : to)
      if (each != "/") parts.push_back(each.string());
    parts_.insert(parts_.begin(), parts.begin(), parts.end());
    if (to.is_absolute()) start(to);
  }
  bool is_of_proc() const {
    struct statfs status {};
    return fstatfs(at_.folder.get(), &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
  }

  OwnFolder at_;
  std::string shown_;
  std::deque<std::string> parts_;
  int links_ = 0;
};

}  // namespace

OwnFolder open_own_folder(const fs::path& path) { return Walk(path).to(false); }
OwnFolder open_own_parent(const fs::path& path) { return Walk(path).to(true); }

void accept_shared_folders() { any_folder = true; }
bool shared_folders_accepted() { return any_folder; }

Identity identity_of(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? Identity{status.st_dev, status.st_ino} : Identity{};
}

Identity identity_in(int folder, const std::string& name) {
  struct stat status {};
  return fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0
             ? Identity{status.st_dev, status.st_ino}
             : Identity{};
}

int remove_made(int folder, const std::string& name, Identity made, bool directory) {
  if (made == Identity{} || identity_in(folder, name) != made) return ESTALE;
  return unlinkat(folder, name.c_str(), directory ? AT_REMOVEDIR : 0) == 0 ? 0 : errno;
}

std::string random_digits() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random)
    throw io_error("getrandom", errno, "the kernel's random numbers");
  return fmt::format("{:016x}", random);
}

}  // namespace spillway::hw_backend
