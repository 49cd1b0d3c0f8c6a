#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hw_backend/raw_device/block_layer.hpp"

// What /sys, /proc and udev say about block devices. Every path is below the layer's roots.
namespace spillway::hw_backend {

/// The folder of a block device below /sys/devices; its last part is the kernel's name.
using BlockFolder = std::filesystem::path;

/// None when /sys does not show the device.
std::optional<BlockFolder> folder_of(const Roots& roots, DeviceNumber number);

/// An attribute without the blanks and zeros around it; "" when there is none.
std::string attribute(const BlockFolder& folder, const std::filesystem::path& name);

bool is_partition(const BlockFolder& folder);
std::vector<std::string> partitions(const BlockFolder& disk);

/// Kernel names of what is stacked on the disk or one of its partitions: RAID, device mapper, ...
std::vector<std::string> holders(const BlockFolder& disk);

/// The whole disks that a device lies on: through partitions, device mapper and RAID.
std::set<BlockFolder> disks_under(const BlockFolder& folder);

/// Somebody's use of a disk: a mount point, or swap.
struct Use {
  std::string what;             ///< "mounted on /home", "swap space /dev/sda2"
  bool is_root = false;         ///< what is mounted on /
  std::set<BlockFolder> disks;  ///< empty: no disk is known, `untraced` says whether one should be
  bool untraced = false;        ///< a block device that /sys does not show
};

/// Of /proc/self/mountinfo and /proc/swaps.
///   Throws  DeviceError when one of them cannot be read
std::vector<Use> uses(const BlockLayer& layer);

/// The names that may stand for this disk: its serial number, worldwide identifier, and what udev
/// found out. Without repetition, the serial number first; empty for one that has none.
std::vector<std::string> identities(const Roots& roots, const BlockFolder& disk);

/// Other disks of which `identity` is one, by kernel name.
std::vector<std::string> namesakes(const Roots& roots, const BlockFolder& disk,
                                   const std::string& identity);

}  // namespace spillway::hw_backend
