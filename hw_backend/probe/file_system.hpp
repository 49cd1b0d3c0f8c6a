#pragma once

#include "scenarios/description/machine_file.hpp"

#include <sys/types.h>
#include <filesystem>

namespace spillway::hw_backend {

/// What a directory lies on.
struct FileSystem {
  description::StorageKind kind = description::StorageKind::ssd;
  dev_t device = 0;  ///< of the file system: directories with equal ones share it
  std::string disk;  ///< "nvme0n1", the whole disk; empty where none is known
};

/// Throws  DeviceError when the system does not say
FileSystem file_system_of(const std::filesystem::path& directory);

/// Remote for the magic numbers (statfs) of file systems whose data lie on other machines.
description::StorageKind kind_of_magic(long magic);

/// Base names of directories; equal ones get -2, -3, ...: "a/nvme", "b/nvme" are nvme, nvme-2.
std::vector<std::string> storage_names(const std::vector<std::filesystem::path>& directories);

}  // namespace spillway::hw_backend
