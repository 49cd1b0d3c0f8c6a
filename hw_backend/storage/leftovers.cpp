#include "hw_backend/storage/store_directory.hpp"
#include "hw_backend/storage/store_names.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace spillway::hw_backend {
namespace {

bool begins_with_our_line(int fd) {
  std::array<char, lock_line.size()> text{};
  return pread(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
         std::string_view(text.data(), text.size()) == lock_line;
}

/// The names in an open directory.
std::vector<std::string> names_in(int fd) {
  std::vector<std::string> out;
  std::error_code gone;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  for (const auto& entry : std::filesystem::directory_iterator(path, gone)) {
    out.push_back(entry.path().filename().string());
  }
  return out;
}

}  // namespace

bool is_store_name(std::string_view name) {
  if (!name.starts_with(store_prefix) || name.size() != store_prefix.size() + 16) return false;
  name.remove_prefix(store_prefix.size());
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char letter) { return std::isxdigit(letter) != 0; });
}

std::string remove_store(int parent, const std::string& name, int store, std::uint64_t& bytes) {
  const std::vector<std::string> names = names_in(store);
  for (const std::string& file : names) {
    struct stat status {};
    const bool ours = file == lock_name || file.ends_with(file_suffix);
    if (fstatat(store, file.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !ours ||
        !S_ISREG(status.st_mode)) {
      return "holds " + file + ", which no run of ours made";
    }
    bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  const auto unlink_it = [&](const std::string& file) {
    return unlinkat(store, file.c_str(), 0) == 0 || errno == ENOENT;
  };
  for (const std::string& file : names) {
    if (file != lock_name && !unlink_it(file)) return file + ": " + std::strerror(errno);
  }
  // Last, so that what is cut short here is recognised by the next one.
  if (!unlink_it(std::string(lock_name))) return std::strerror(errno);
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0) return std::strerror(errno);
  return {};
}

Leftovers remove_leftovers(const std::filesystem::path& directory) {
  Leftovers out;
  const Descriptor parent(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return out;
  for (const std::string& name : names_in(parent.get())) {
    if (!is_store_name(name)) continue;
    const Descriptor store(
        openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!store) continue;
    const Descriptor lock(
        openat(store.get(), lock_name.data(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!lock) {
      if (errno == EACCES) out.kept.push_back((directory / name).string() + ": EACCES");
      continue;
    }
    if (!begins_with_our_line(lock.get()) || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::uint64_t bytes = 0;
    const std::string fault = remove_store(parent.get(), name, store.get(), bytes);
    if (fault.empty()) {
      ++out.directories;
      out.bytes += bytes;
    } else {
      out.kept.push_back((directory / name).string() + ": " + fault);
    }
  }
  return out;
}

}  // namespace spillway::hw_backend
