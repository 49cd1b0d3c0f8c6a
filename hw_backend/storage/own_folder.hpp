#pragma once

#include "hw_backend/storage/descriptor.hpp"

#include <sys/types.h>
#include <filesystem>
#include <string>

namespace spillway::hw_backend {

/// A folder, held open, in which nobody but this user and root can exchange one thing for another,
/// or why there is none. What is done in it by descriptor and name is done to what was meant.
struct OwnFolder {
  Descriptor folder;  ///< O_PATH; none when it was refused
  std::string name;   ///< of the last part, which is no link; "" where the folder itself was asked
  int error = 0;      ///< errno of the call that failed
  std::string refusal;  ///< who may exchange what; "" when a call failed

  explicit operator bool() const { return bool(folder); }
};

/// Walks to the folder `path` part by part. A folder on the way that belongs to another user than
/// root, or that others may rename in (writable by them and not sticky), is refused, and so is a
/// link that another user than root made. Whom a namespace of users does not know counts as root.
OwnFolder open_own_folder(const std::filesystem::path& path);

/// The same for the folder that `path` lies in. Links at its end are followed, but for those of
/// /proc, which lead to no name.
OwnFolder open_own_parent(const std::filesystem::path& path);

/// From now on this process takes any folder: the user has said that whoever may rename there is
/// trusted.
void accept_shared_folders();
bool shared_folders_accepted();

/// What helps against a refusal, in words.
inline constexpr const char* shared_folder_remedy =
    "name one below a folder of your own, or trust those who may write there: --shared-folders";

/// What an entry of a folder is, whatever its name.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};

/// All 0 when it cannot be had.
Identity identity_of(int fd);
Identity identity_in(int folder, const std::string& name);

/// Removes `name` of an open folder if it still is what was made there.
///   Result  0; ESTALE: another thing has the name now, and stays; else errno
int remove_made(int folder, const std::string& name, Identity made, bool directory = false);

/// 16 hexadecimal digits that nobody can foresee.
///   Throws  DeviceError
std::string random_digits();

}  // namespace spillway::hw_backend
