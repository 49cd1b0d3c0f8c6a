#include "hw_backend/probe/ratings.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace spillway::hw_backend {

namespace {

namespace fs = std::filesystem;

/// The first line of a file; "" where there is none.
std::string line_of(const fs::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

/// "16", "16.0 GT/s PCIe"; 0 where it is no number.
double number_of(const fs::path& file) {
  const std::string line = line_of(file);
  return std::strtod(line.c_str(), nullptr);
}

enum class Kind { other, gpu, nvme };

/// By the class of PCI (0x010802: NVMe; 0x03....: display) and, of displays, by the maker: a
/// board's own display is no GPU.
Kind kind_of(const fs::path& device) {
  const std::string code = line_of(device / "class"), vendor = line_of(device / "vendor");
  if (code.starts_with("0x010802")) return Kind::nvme;
  const bool maker = vendor == "0x10de" || vendor == "0x1002";
  const bool display = code.starts_with("0x0300") || code.starts_with("0x0302");
  return display && maker ? Kind::gpu : Kind::other;
}

void compare(const fs::path& device, std::vector<text::Text>& into) {
  const Kind kind = kind_of(device);
  if (kind == Kind::other) return;
  const std::string name =
      (kind == Kind::gpu ? "The GPU at " : "The NVMe drive at ") + device.filename().string();
  const double lanes = number_of(device / "current_link_width");
  const double most = number_of(device / "max_link_width");
  if (lanes > 0 && lanes < most)
    into.push_back(text::filled(
        "{} has {} lanes of PCI Express and could have {}: look for a slot that gives it more, a "
        "riser, or a second card that shares them",
        {name, text::plain(lanes), text::plain(most)}));
  const double speed = number_of(device / "current_link_speed");
  const double fastest = number_of(device / "max_link_speed");
  if (kind == Kind::nvme && speed > 0 && speed < fastest)
    into.push_back(text::filled(
        "{} has a link of {} and could have one of {}: its slot is of an older generation, or a "
        "setting of the board's firmware keeps it so",
        {name, text::number(speed, "GT/s"), text::number(fastest, "GT/s")}));
}

}  // namespace

std::vector<text::Text> below_ratings(const fs::path& root) {
  std::vector<text::Text> found;
  std::vector<fs::path> devices;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(root / "sys/bus/pci/devices", failed))
    devices.push_back(entry.path());
  std::sort(devices.begin(), devices.end());
  for (const fs::path& device : devices) compare(device, found);
  const std::string pages = line_of(root / "sys/kernel/mm/transparent_hugepage/enabled");
  if (pages.find("[never]") != std::string::npos)
    found.push_back(
        "Transparent huge pages are off, so that large buffers are reached through small pages: "
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
  return found;
}

}  // namespace spillway::hw_backend
