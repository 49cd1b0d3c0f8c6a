#include "hw_backend/raw_device/refusals.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace spillway::hw_backend {

namespace {

namespace fs = std::filesystem;
using description::Complaint;
using description::ScenarioError;

/// Collects refusals of one device.
class Refusals {
 public:
  Refusals(const BlockLayer& layer, const Found& device) : layer_(layer), device_(device) {}

  void check_kind() {
    const fs::path& folder = device_.folder;
    if (is_partition(folder)) {
      add(fmt::format("is a partition of {}", folder.parent_path().filename().string()),
          "only a whole disk can be given, so that nothing else lies on it");
      return;
    }
    if (const auto below = disks_under(folder); !below.contains(folder)) {
      add(fmt::format("is stacked on {}", fmt::join(names(below), ", ")),
          "give a disk of its own, not a volume of device mapper or RAID");
    } else if (fs::exists(folder / "dm") || fs::exists(folder / "md")) {
      add("is a volume of device mapper or RAID", "give a disk of its own");
    } else if (!fs::exists(folder / "device")) {
      add("has no hardware behind it (a loop, RAM or network device)",
          "use files on it: --on DIRECTORY");
    }
    if (folder.string().find("/usb") != std::string::npos) {
      add("hangs on USB, where backups hang too", "use an internal drive");
    }
    if (says("removable", "1")) add("is removable", "use an internal drive");
    if (says("hidden", "1")) add("is hidden by the kernel", "use the multipath device's files");
    if (says("ro", "1")) add("is read-only", "unlock it: blockdev --setrw");
    if (says("size", "0")) add("has no medium, its size is 0", "insert or format one");
  }

  void check_stack() {
    if (const auto found = partitions(device_.folder); !found.empty()) {
      add(fmt::format("has partitions: {}", fmt::join(found, ", ")),
          "take a disk without; if they can go, remove them with sfdisk --delete");
    }
    if (const auto found = holders(device_.folder); !found.empty()) {
      add(fmt::format("is held by {}", fmt::join(found, ", ")),
          "stop what uses it: mdadm --stop, vgchange -an or cryptsetup close");
    }
  }

  void check_uses() {
    const auto own = disks_under(device_.folder);
    for (const Use& use : uses(layer_)) {
      const bool shared = std::any_of(own.begin(), own.end(), [&](const BlockFolder& disk) {
        return use.disks.contains(disk);
      });
      if (shared && use.is_root) {
        add("is the disk under /", "never this one; take a disk of its own");
      } else if (shared) {
        add("is in use: " + use.what, "umount or swapoff it, if its contents can go");
      } else if (use.untraced) {
        add("may be in use: nobody can tell which disk is " + use.what,
            "run where /sys and /dev show all devices, outside of a container");
      }
    }
  }

  void check_serial(const std::string& allowed) {
    const std::vector<std::string> own = identities(layer_.roots(), device_.folder);
    if (own.empty()) {
      add("has no serial number, so it cannot be told from another",
          "use files on it: --on DIRECTORY");
    } else if (std::find(own.begin(), own.end(), allowed) == own.end()) {
      add(fmt::format("has the serial number {}, not \"{}\"", own.front(), allowed),
          fmt::format("if this is the disk to overwrite: --allow-raw {}", own.front()));
    } else if (const auto others = namesakes(layer_.roots(), device_.folder, allowed);
               !others.empty()) {
      add(fmt::format("shares the serial number {} with {}", allowed, fmt::join(others, ", ")),
          own.back() == allowed ? "take a disk whose number is its own"
                                : fmt::format("name it by --allow-raw {}", own.back()));
    }
  }

  std::vector<Complaint> take() { return std::move(complaints_); }

 private:
  void add(const std::string& found, std::string remedy) {
    complaints_.push_back(
        refusal(fmt::format("{} {}", device_.path.string(), found), std::move(remedy)));
  }
  bool says(const char* name, const char* value) const {
    return attribute(device_.folder, name) == value;
  }
  static std::vector<std::string> names(const std::set<BlockFolder>& folders) {
    std::vector<std::string> result;
    for (const BlockFolder& folder : folders) result.push_back(folder.filename().string());
    return result;
  }

  const BlockLayer& layer_;
  const Found& device_;
  std::vector<Complaint> complaints_;
};

}  // namespace

Complaint refusal(std::string found, std::string remedy) {
  Complaint complaint;
  complaint.path = "--allow-raw";
  complaint.message = std::move(found);
  complaint.hint = std::move(remedy);
  return complaint;
}

Found find_device(const BlockLayer& layer, const fs::path& path) {
  std::error_code none;
  const fs::path real = fs::canonical(path, none);
  if (none) {
    throw ScenarioError({refusal(fmt::format("{} does not exist", path.string()),
                                 "list the disks with lsblk -o NAME,SIZE,SERIAL,MOUNTPOINTS")});
  }
  const auto number = layer.number_of(real);
  if (!number) {
    throw ScenarioError({refusal(fmt::format("{} is not a block device", real.string()),
                                 "give files a directory instead: --on DIRECTORY")});
  }
  const auto folder = folder_of(layer.roots(), *number);
  if (!folder) {
    throw ScenarioError({refusal(fmt::format("{} ({}) is not in /sys, so nothing is known about it",
                                             real.string(), to_string(*number)),
                                 "run where /sys shows all devices, outside of a container")});
  }
  return {real, *number, *folder};
}

std::vector<Complaint> refusals(const BlockLayer& layer, const Found& device,
                                const std::string& allowed) {
  Refusals found(layer, device);
  found.check_kind();
  found.check_stack();
  found.check_uses();
  found.check_serial(allowed);
  return found.take();
}

}  // namespace spillway::hw_backend
