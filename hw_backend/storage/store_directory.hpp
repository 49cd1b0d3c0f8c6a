#pragma once

#include "hw_backend/storage/own_folder.hpp"
#include "hw_backend/storage/target.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace spillway::hw_backend {

/// A file made for a run; when it dies, it is removed from the directory that it was made in, if it
/// still is the file of that name there.
class StoreFile {
 public:
  /// directory  that `path` lies in
  StoreFile(std::shared_ptr<const Descriptor> directory, std::filesystem::path path,
            std::unique_ptr<Target> target);
  ~StoreFile();
  StoreFile(const StoreFile&) = delete;

  Target& target() { return *target_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::shared_ptr<const Descriptor> directory_;
  std::filesystem::path path_;
  std::unique_ptr<Target> target_;
};

/// What earlier runs had left in a directory and a start has removed.
struct Leftovers {
  std::size_t directories = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> kept;  ///< what could not be removed, and why
};

/// What a run keeps in one directory that the user named: DIR/spillway.<random>/ with a LOCK file,
/// locked as long as this lives, and files. All of it goes when this dies; after kill -9, when the
/// next one in DIR is made. Directory and store are held open, and everything is made and removed
/// in them, wherever their paths may lead meanwhile.
///   Durable  no: nothing is flushed to a drive's medium. What is spilled is of no use after a
///            crash
class StoreDirectory {
 public:
  /// Removes every DIR/spillway.* that a run of this user made in this boot of this computer and no
  /// process holds: its LOCK begins with our line and is free to lock. What else has such a name is
  /// named in `removed().kept`. No symbolic link is followed.
  ///   directory      where the user wants it (--on)
  ///   reserve_bytes  of the file system that `create` leaves free
  ///   look           called between the pieces of long calls; may throw, and nothing stays
  ///   Throws  ScenarioError: not there, not a directory, below /dev, or one that others may rename
  ///           in (OwnFolder); DeviceError: EACCES, EROFS, ENOSPC, each with the remedy
  explicit StoreDirectory(const std::filesystem::path& directory,
                          std::uint64_t reserve_bytes = std::uint64_t{1} << 30,
                          std::function<void()> look = {});
  ~StoreDirectory();
  StoreDirectory(const StoreDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const Leftovers& removed() const { return removed_; }
  /// The file system is in memory (tmpfs): what it holds takes DRAM.
  bool in_memory() const;
  /// Transfers go past the page cache. Tries it with a file of one sector.
  ///   Throws  DeviceError as `create`
  bool direct();
  /// Bytes that files may still take: what is free for this user, less the reserve.
  std::uint64_t room() const;
  ///   Throws  DeviceError when fewer than `bytes` are left
  void require_room(std::uint64_t bytes) const;

  /// A file of `bytes`, rounded up to 4096, all of them allocated. Where writes go over what is
  /// there (ext4, XFS, tmpfs; btrfs, whose copies are turned off for it) none runs out of space
  /// later; a thin volume or snapshots below can still end one with ENOSPC. They read as zeros,
  /// without the device where it knows that nothing was written.
  ///   name    letters, digits, '_', '-', '.'; unique among the files that live
  ///   Throws  DeviceError: no room, a file system that cannot allocate, or the call that failed;
  ///           nothing is left behind
  std::unique_ptr<StoreFile> create(const std::string& name, std::uint64_t bytes,
                                    bool direct = true);

 private:
  void make_store();
  int lock_store();
  std::unique_ptr<StoreFile> make_file(const std::string& name, std::uint64_t bytes, bool direct);
  void allocate(int fd, const std::filesystem::path& path, std::uint64_t bytes) const;

  std::filesystem::path directory_;
  std::filesystem::path path_;
  std::uint64_t reserve_bytes_;
  std::function<void()> look_;
  Descriptor folder_;
  std::shared_ptr<const Descriptor> store_;
  Descriptor lock_;
  Leftovers removed_;
};

}  // namespace spillway::hw_backend
