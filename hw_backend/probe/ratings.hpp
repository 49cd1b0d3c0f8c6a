#pragma once

#include "reports/text/text.hpp"

#include <filesystem>
#include <vector>

namespace spillway::hw_backend {

/// Hardware of this computer that runs below what it is rated for, and settings that slow a
/// training down, a sentence each with rated and found:
///   lanes        a GPU or NVMe drive whose link has fewer than it can have
///   generation   an NVMe drive's link that is slower than its own; that of a GPU is low while it
///                rests and says nothing
///   huge pages   transparent huge pages that are off: DRAM is reached through smaller pages
///   root         where /sys lies: "/"
///   Source       Documentation/ABI/testing/sysfs-bus-pci of Linux: current_link_width, ...
std::vector<text::Text> below_ratings(const std::filesystem::path& root = "/");

}  // namespace spillway::hw_backend
