#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "hw_backend/raw_device/block_layer.hpp"

namespace spillway::hw_backend {

/// A system in a folder: /sys, /proc, /run/udev and /dev, whose devices are files of 16 MiB.
/// Reads, writes and signatures are the real ones, on these files.
class FakeSystem : public SystemBlockLayer {
 public:
  FakeSystem() {
    std::string name = std::filesystem::temp_directory_path() / "spillway_raw_XXXXXX";
    root_ = mkdtemp(name.data());
    write("sys/block/.", "");
    write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
    write("proc/self/mountinfo", "");
    mount("0:21", "/proc", "proc");
  }
  ~FakeSystem() override { std::filesystem::remove_all(root_); }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;

  /// A drive with hardware and a serial number; its node.
  std::filesystem::path add_disk(const std::string& name, DeviceNumber number,
                                 const std::string& serial, const std::string& bus = "pci0/nvme") {
    add_device(name, number, bus + "/block/" + name);
    write(folder(name) / "device/model", "A drive   \n");
    if (!serial.empty()) write(folder(name) / "device/serial", "  " + serial + "\n");
    return node(name);
  }
  std::filesystem::path add_partition(const std::string& disk, const std::string& name,
                                      DeviceNumber number) {
    add_device(name, number, folders_.at(disk) + "/" + name);
    write(folder(name) / "partition", "1\n");
    return node(name);
  }
  /// A device without hardware: a loop, or a volume on the devices `below`.
  std::filesystem::path add_virtual(const std::string& name, DeviceNumber number,
                                    const std::vector<std::string>& below = {}) {
    add_device(name, number, "virtual/block/" + name);
    for (const std::string& each : below) {
      link(folder(name) / "slaves" / each, folder(each));
      link(folder(each) / "holders" / name, folder(name));
    }
    return node(name);
  }

  std::filesystem::path node(const std::string& name) const { return root_ / "dev" / name; }
  std::filesystem::path folder(const std::string& name) const {
    return root_ / "sys/devices" / folders_.at(name);
  }
  void set(const std::string& name, const std::string& attribute, const std::string& value) {
    write(folder(name) / attribute, value + "\n");
  }
  void mount(const std::string& number, const std::string& point, const std::string& source) {
    append("proc/self/mountinfo",
           fmt::format("30 1 {} / {} rw,relatime shared:1 - ext4 {} rw\n", number, point, source));
  }
  void swap(const std::string& name, const std::string& type) {
    append("proc/swaps", fmt::format("{}  {}  1024  0  -2\n", name, type));
  }
  void write(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  void append(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(root_ / file, std::ios::app) << text;
  }
  void remove(const std::filesystem::path& file) { std::filesystem::remove(root_ / file); }
  const std::filesystem::path& root() const { return root_; }

  /// One byte of a device.
  void put(const std::string& name, std::uint64_t offset, char value) {
    std::fstream file(node(name), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(value);
  }

  Roots roots() const override { return {root_ / "sys", root_ / "proc", root_ / "udev"}; }
  std::optional<DeviceNumber> number_of(const std::filesystem::path& path) const override {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 ? known(status) : std::nullopt;
  }
  std::optional<DeviceNumber> number_of(int fd) const override {
    struct stat status {};
    if (other_device) return other_device;
    return fstat(fd, &status) == 0 ? known(status) : std::nullopt;
  }
  Opened open_exclusive(const std::filesystem::path& path) const override {
    ++opened;
    if (while_opening) while_opening();
    if (open_error != 0) return {-1, open_error};
    return {open(path.c_str(), O_RDWR | O_CLOEXEC), 0};
  }
  bool read_only(int) const override { return call_says_read_only; }
  std::uint64_t size(int fd) const override {
    struct stat status {};
    return fstat(fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }
  std::uint32_t logical_block(int) const override { return 512; }

  mutable int opened = 0;
  int open_error = 0;
  std::function<void()> while_opening;
  std::optional<DeviceNumber> other_device;  ///< what the descriptor turns out to be
  bool call_says_read_only = false;

 private:
  void add_device(const std::string& name, DeviceNumber number, const std::string& where) {
    folders_[name] = where;
    std::filesystem::create_directories(folder(name) / "holders");
    std::filesystem::create_directories(folder(name) / "slaves");
    set(name, "dev", to_string(number));
    set(name, "size", "32768");
    set(name, "ro", "0");
    set(name, "removable", "0");
    link(root_ / "sys/dev/block" / to_string(number), folder(name));
    if (where.find(name) == where.rfind("block/") + 6)
      link(root_ / "sys/block" / name, folder(name));
    write("dev/" + name, "");
    std::filesystem::resize_file(node(name), 16 << 20);
    struct stat status {};
    if (stat(node(name).c_str(), &status) == 0) numbers_[status.st_ino] = number;
  }
  static void link(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::create_directories(from.parent_path());
    std::filesystem::create_directory_symlink(to, from);
  }
  std::optional<DeviceNumber> known(const struct stat& status) const {
    const auto found = numbers_.find(status.st_ino);
    if (found == numbers_.end()) return std::nullopt;
    return found->second;
  }

  std::filesystem::path root_;
  std::map<std::string, std::string> folders_;
  std::map<ino_t, DeviceNumber> numbers_;
};

}  // namespace spillway::hw_backend
