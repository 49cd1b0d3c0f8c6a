#pragma once

#include "hw_backend/storage/target.hpp"

#include <memory>
#include <vector>

namespace spillway::hw_backend {

/// A file made for a run; deleted when it dies.
class StoreFile {
 public:
  StoreFile(std::filesystem::path path, std::unique_ptr<Target> target);
  ~StoreFile();
  StoreFile(const StoreFile&) = delete;

  Target& target() { return *target_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::unique_ptr<Target> target_;
};

/// What earlier runs had left in a directory and a start has removed.
struct Leftovers {
  std::size_t directories = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> kept;  ///< what could not be removed, and why
};

/// Removes every DIR/spillway.* that a run made and no process holds: its LOCK file must begin with
/// our line and be free to lock. Nothing else is touched, and no symbolic link followed.
Leftovers remove_leftovers(const std::filesystem::path& directory);

/// What a run keeps in one directory that the user named: DIR/spillway.<random>/ with a LOCK file,
/// locked as long as this lives, and files. All of it goes when this dies; after kill -9, when the
/// next one in DIR is made.
class StoreDirectory {
 public:
  /// directory      where the user wants it (--on)
  /// reserve_bytes  of the file system that `create` leaves free
  ///   Throws  ScenarioError: not there, not a directory, or below /dev; DeviceError: EACCES,
  ///   EROFS,
  ///           ENOSPC, each with the remedy
  explicit StoreDirectory(const std::filesystem::path& directory,
                          std::uint64_t reserve_bytes = std::uint64_t{1} << 30);
  ~StoreDirectory();
  StoreDirectory(const StoreDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const Leftovers& removed() const { return removed_; }
  /// The file system is in memory (tmpfs): what it holds takes DRAM.
  bool in_memory() const;
  /// Bytes that files may still take: what is free for this user, less the reserve.
  std::uint64_t room() const;
  ///   Throws  DeviceError when fewer than `bytes` are left
  void require_room(std::uint64_t bytes) const;

  /// A file of `bytes`, rounded up to 4096, all of them allocated, so that no write runs out of
  /// space. They read as zeros, without the device where it knows that nothing was written.
  ///   name    letters, digits, '_', '-', '.'; unique among the files that live
  ///   Throws  DeviceError: no room, or the call that failed; nothing is left behind
  std::unique_ptr<StoreFile> create(const std::string& name, std::uint64_t bytes,
                                    bool direct = true);

 private:
  std::filesystem::path directory_;
  std::filesystem::path path_;
  std::uint64_t reserve_bytes_;
  Descriptor lock_;
  Leftovers removed_;
};

}  // namespace spillway::hw_backend
