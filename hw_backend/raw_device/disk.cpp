#include "hw_backend/raw_device/disk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

namespace fs = std::filesystem;

/// Entries of a folder, sorted; none when it is not there.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code none;
  for (auto each = fs::directory_iterator(folder, none); each != fs::directory_iterator();
       each.increment(none)) {
    found.push_back(each->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string trimmed(const std::string& text) {
  const std::string blanks(" \t\n\r\0", 5);
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  if (!in) {
    throw description::DeviceError(fmt::format(
        "{} cannot be read, so nobody knows what is in use; mount /proc", file.string()));
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// "\040" and its like, as /proc writes blanks in names.
std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](std::size_t k) { return text[k] >= '0' && text[k] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      result += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

void trace(const Roots& roots, std::optional<DeviceNumber> number, Use& use) {
  if (!number) return;
  if (const auto folder = folder_of(roots, *number)) {
    use.disks.merge(disks_under(*folder));
  } else {
    use.untraced = true;
  }
}

/// "36 35 98:0 /root /mount\040point rw,noatime master:1 - ext4 /dev/sda1 rw"
std::optional<Use> mounted(const BlockLayer& layer, const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 7 || words.end() - dash < 3) return std::nullopt;
  const std::string point = unescaped(words[4]);
  Use use{fmt::format("mounted on {}", point), point == "/", {}, false};
  DeviceNumber number;
  if (std::sscanf(words[2].c_str(), "%u:%u", &number.major, &number.minor) == 2 &&
      number.major != 0) {
    trace(layer.roots(), number, use);
  }
  // btrfs and others give the mount a number of its own; the source still names a device.
  const fs::path source = unescaped(dash[2]);
  if (source.is_absolute()) trace(layer.roots(), layer.number_of(source), use);
  return use;
}

/// "/dev/sda2  partition  8388604  0  -2"
std::optional<Use> swapped(const BlockLayer& layer, const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  if (words.size() < 2 || words[0] == "Filename") return std::nullopt;
  const std::string name = unescaped(words[0]);
  Use use{fmt::format("swap space {}", name), false, {}, false};
  const auto number = layer.number_of(fs::path(name));
  trace(layer.roots(), number, use);
  if (!number && words[1] == "partition") use.untraced = true;
  return use;
}

void append_new(std::vector<std::string>& names, const std::string& name) {
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
    names.push_back(name);
  }
}

}  // namespace

std::optional<BlockFolder> folder_of(const Roots& roots, DeviceNumber number) {
  std::error_code none;
  fs::path folder = fs::canonical(roots.sysfs / "dev/block" / to_string(number), none);
  if (none) return std::nullopt;
  return folder;
}

std::string attribute(const BlockFolder& folder, const fs::path& name) {
  std::ifstream in(folder / name);
  return trimmed(std::string(std::istreambuf_iterator<char>(in), {}));
}

bool is_partition(const BlockFolder& folder) { return fs::exists(folder / "partition"); }

std::vector<std::string> partitions(const BlockFolder& disk) {
  std::vector<std::string> names;
  for (const fs::path& entry : entries(disk)) {
    if (fs::is_directory(entry) && is_partition(entry)) names.push_back(entry.filename().string());
  }
  return names;
}

std::vector<std::string> holders(const BlockFolder& disk) {
  std::vector<std::string> names;
  const auto add = [&](const fs::path& folder) {
    for (const fs::path& holder : entries(folder / "holders")) {
      append_new(names, holder.filename().string());
    }
  };
  add(disk);
  for (const std::string& partition : partitions(disk)) add(disk / partition);
  return names;
}

std::set<BlockFolder> disks_under(const BlockFolder& folder) {
  if (is_partition(folder)) return disks_under(folder.parent_path());
  std::set<BlockFolder> disks;
  for (const fs::path& slave : entries(folder / "slaves")) {
    disks.merge(disks_under(fs::canonical(slave)));
  }
  if (disks.empty()) disks.insert(folder);
  return disks;
}

std::vector<Use> uses(const BlockLayer& layer) {
  std::vector<Use> found;
  for (const std::string& line : lines_of(layer.roots().proc / "self/mountinfo")) {
    if (auto use = mounted(layer, line)) found.push_back(std::move(*use));
  }
  for (const std::string& line : lines_of(layer.roots().proc / "swaps")) {
    if (auto use = swapped(layer, line)) found.push_back(std::move(*use));
  }
  return found;
}

std::vector<std::string> identities(const Roots& roots, const BlockFolder& disk) {
  std::vector<std::string> names;
  for (const char* name : {"device/serial", "serial", "wwid", "device/wwid"}) {
    append_new(names, attribute(disk, name));
  }
  std::ifstream udev(roots.udev / "data" / ("b" + attribute(disk, "dev")));
  for (std::string line; std::getline(udev, line);) {
    for (const std::string key : {"E:ID_SERIAL_SHORT=", "E:ID_SERIAL="}) {
      if (line.starts_with(key)) append_new(names, trimmed(line.substr(key.size())));
    }
  }
  return names;
}

std::vector<std::string> namesakes(const Roots& roots, const BlockFolder& disk,
                                   const std::string& identity) {
  std::vector<std::string> found;
  for (const fs::path& entry : entries(roots.sysfs / "block")) {
    std::error_code none;
    const fs::path other = fs::canonical(entry, none);
    if (none || other == disk) continue;
    const std::vector<std::string> names = identities(roots, other);
    if (std::find(names.begin(), names.end(), identity) != names.end()) {
      found.push_back(other.filename().string());
    }
  }
  return found;
}

}  // namespace spillway::hw_backend
