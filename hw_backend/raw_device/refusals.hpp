#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hw_backend/raw_device/disk.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

/// A device as it was found before it was opened.
struct Found {
  std::filesystem::path path;  ///< links resolved
  DeviceNumber number;
  BlockFolder folder;
};

/// What `path` is.
///   Throws  ScenarioError: it does not exist, is no block device, or /sys does not show it
Found find_device(const BlockLayer& layer, const std::filesystem::path& path);

/// Every reason not to write to this device that shows without opening it: a partition, a stack
/// of devices, no hardware behind it, removable, USB, read-only, empty, hidden, partitions,
/// holders, mounts, swap, the disk under /, no serial number, another one than `allowed`, one that
/// two disks have. Empty: none.
std::vector<description::Complaint> refusals(const BlockLayer& layer, const Found& device,
                                             const std::string& allowed);

/// A refusal with what was found and what would help.
description::Complaint refusal(std::string found, std::string remedy);

}  // namespace spillway::hw_backend
