#include "hw_backend/storage/own_folder.hpp"
#include "hw_backend/storage/store_directory.hpp"
#include "hw_backend/storage/store_names.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

namespace spillway::hw_backend {
namespace {

/// LOCK of a leftover: at most its first KiB.
std::string text_of(int fd) {
  std::array<char, 1024> text{};
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

/// What follows `key` in its line, which has an end; "" where there is none.
std::string line_after(const std::string& text, const std::string& key) {
  const std::size_t at = text.find("\n" + key + " ");
  if (at == std::string::npos) return "";
  const std::size_t first = at + key.size() + 2, end = text.find('\n', first);
  return end == std::string::npos ? "" : text.substr(first, end - first);
}

/// One DIR/spillway.* that is there already.
class Leftover {
 public:
  Leftover(int directory, std::string name) : directory_(directory), name_(std::move(name)) {
    store_ = Descriptor(
        openat(directory_, name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    error_ = store_ ? 0 : errno;
  }

  std::uint64_t bytes() const { return bytes_; }

  /// Removes it with all in it, or says why it stays. None: it is no store, or in use.
  std::optional<std::string> remove() {
    if (error_ == ENOTDIR || error_ == ELOOP || error_ == ENOENT) return std::nullopt;
    struct stat status {};
    if (!store_ || fstat(store_.get(), &status) != 0) return in_words(error_ ? error_ : errno);
    if (status.st_uid != geteuid())
      return fmt::format("belongs to another user ({})", status.st_uid);
    int error = 0;
    names_ = names_in(store_.get(), error);
    if (error != 0) return in_words(error);
    if (names_.empty()) return remove_folder();  // killed before it made LOCK, or after it was gone
    const Descriptor lock(
        openat(store_.get(), lock_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!lock && errno == ENOENT) return "holds files and no LOCK that says whose they are";
    if (!lock) return std::string(lock_name) + ": " + in_words(errno);
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::nullopt;  // it is in use
      return std::string(lock_name) + ": " + in_words(errno);
    }
    const std::string text = text_of(lock.get());
    if (text.empty() && names_.size() > 1) return "its LOCK is empty, as after a loss of power";
    if (!text.empty())
      if (std::string other = somebody_elses(text); !other.empty()) return other;
    return remove_all();
  }

 private:
  static std::string in_words(int error) {
    const char* name = strerrorname_np(error);
    return fmt::format("{} ({})", name ? name : "?", std::strerror(error));
  }

  static std::string somebody_elses(const std::string& text) {
    if (!text.starts_with(lock_line)) return "its LOCK is none of ours";
    const std::string boot = line_after(text, "boot"), host = line_after(text, "host");
    if (!boot.empty() && boot == boot_id()) return "";
    return fmt::format(
        "made by process {} in another boot or on another computer{}, whose locks are not seen "
        "here; once it does not run any more, remove it with rm -r",
        line_after(text, "process"), host.empty() ? "" : " (" + host + ")");
  }

  /// All or nothing, as far as can be seen before.
  std::optional<std::string> remove_all() {
    std::vector<Identity> made;
    for (const std::string& file : names_) {
      struct stat status {};
      const bool ours = file == lock_name || file.ends_with(file_suffix);
      if (fstatat(store_.get(), file.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !ours ||
          !S_ISREG(status.st_mode) || status.st_uid != geteuid())
        return "holds " + file + ", which no run of ours made";
      made.push_back({status.st_dev, status.st_ino});
      bytes_ += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    for (const bool last : {false, true})  // LOCK: what is cut short here is still recognised
      for (std::size_t i = 0; i < names_.size(); ++i)
        if ((names_[i] == lock_name) == last)
          if (const int error = remove_made(store_.get(), names_[i], made[i]))
            return names_[i] + ": " + in_words(error);
    return remove_folder();
  }

  std::optional<std::string> remove_folder() {
    const int error = remove_made(directory_, name_, identity_of(store_.get()), true);
    return error == 0 ? "" : in_words(error);
  }

  int directory_;
  std::string name_;
  Descriptor store_;
  int error_ = 0;
  std::vector<std::string> names_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

bool is_store_name(std::string_view name) {
  if (!name.starts_with(store_prefix) || name.size() != store_prefix.size() + 16) return false;
  name.remove_prefix(store_prefix.size());
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char letter) { return std::isxdigit(letter) != 0; });
}

std::string boot_id() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return boot;
}

std::vector<std::string> names_in(int directory, int& error) {
  std::vector<std::string> names;
  const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> open(again < 0 ? nullptr : fdopendir(again), closedir);
  error = open ? 0 : errno;
  if (!open) return names;
  while (const dirent* entry = readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

Leftovers remove_leftovers(int directory, const std::string& shown) {
  Leftovers out;
  int error = 0;
  for (const std::string& name : names_in(directory, error)) {
    if (!is_store_name(name)) continue;
    Leftover found(directory, name);
    const std::optional<std::string> why = found.remove();
    if (!why) continue;
    if (why->empty()) {
      ++out.directories;
      out.bytes += found.bytes();
    } else {
      out.kept.push_back(fmt::format("left as it is: {}/{}: {}", shown, name, *why));
    }
  }
  if (error != 0)
    out.kept.push_back(fmt::format("what earlier runs may have left in {} cannot be seen: {} ({})",
                                   shown, strerrorname_np(error), std::strerror(error)));
  return out;
}

}  // namespace spillway::hw_backend
