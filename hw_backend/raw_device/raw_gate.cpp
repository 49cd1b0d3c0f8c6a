#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "hw_backend/raw_device/contents.hpp"
#include "hw_backend/raw_device/raw_device.hpp"
#include "hw_backend/raw_device/refusals.hpp"

namespace spillway::hw_backend {

namespace {

using description::Complaint;
using description::ScenarioError;

[[noreturn]] void refuse(std::string found, std::string remedy) {
  throw ScenarioError({refusal(std::move(found), std::move(remedy))});
}

void look(const BlockLayer& layer, const Found& device, const std::string& allowed) {
  std::vector<Complaint> complaints = refusals(layer, device, allowed);
  if (!complaints.empty()) throw ScenarioError(std::move(complaints));
}

HeldDevice hold(const BlockLayer& layer, const Found& device) {
  const Opened opened = layer.open_exclusive(device.path);
  const std::string name = device.path.string();
  if (opened.fd >= 0) {
    HeldDevice held(opened.fd);
    if (layer.number_of(held.fd()) != device.number) {
      refuse(name + " became another device while it was looked at", "run again");
    }
    return held;
  }
  switch (opened.error) {
    case EBUSY:
      refuse(name + " is in use by somebody else (the kernel gives no exclusive access)",
             "find out by whom: lsblk, fuser -v, dmsetup ls, zpool status; it may be a mount in "
             "another container");
    case EACCES:
    case EPERM:
      refuse(name + " may not be opened by this user", "run as root");
    case EROFS:
      refuse(name + " is read-only", "unlock it: blockdev --setrw");
    default:
      break;
  }
  throw description::DeviceError(fmt::format(
      "open of {}: {} ({})", name, strerrorname_np(opened.error), std::strerror(opened.error)));
}

/// What lies on the held device: nothing, or what an earlier run left.
void search(const BlockLayer& layer, int fd, Drive& drive) {
  const std::string name = drive.path.string();
  std::vector<Complaint> complaints;
  for (const std::string& found : layer.signatures(fd)) {
    complaints.push_back(refusal(fmt::format("{} holds {}", name, found),
                                 fmt::format("if it can go: wipefs --all {}", name)));
  }
  if (!complaints.empty()) throw ScenarioError(std::move(complaints));
  if (usable_bytes(drive.bytes) == 0) {
    refuse(fmt::format("{} has {} bytes, too few to use", name, drive.bytes), "take a larger one");
  }
  drive.ours = has_mark(layer, fd, drive.bytes, drive.serial);
  if (drive.ours) return;
  if (const auto offset = some_data(layer, fd, drive.bytes)) {
    refuse(fmt::format("{} holds data at byte {}, of a kind that nobody knows", name, *offset),
           fmt::format("if it can go: blkdiscard --zeroout {}", name));
  }
}

std::string decimal(double bytes) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

}  // namespace

RawGate::RawGate(const BlockLayer& layer, const std::filesystem::path& path,
                 const std::string& allowed)
    : layer_(layer) {
  const Found device = find_device(layer, path);
  look(layer, device, allowed);
  held_.emplace(hold(layer, device));
  look(layer, device, allowed);  // nothing changes any more
  const int fd = held_->fd();
  drive_ = {device.path,
            attribute(device.folder, "device/model"),
            allowed,
            layer.size(fd),
            layer.logical_block(fd),
            false};
  if (layer.read_only(fd)) {
    refuse(device.path.string() + " is read-only", "unlock it: blockdev --setrw");
  }
  search(layer, fd, drive_);
}

std::string RawGate::statement(const ProjectedWear& wear) {
  stated_ = true;
  const double written = wear.written_bytes_per_step * wear.steps;
  std::string text = fmt::format(
      "Everything on {} will be overwritten: {}, serial number {}, {}{}.\n", drive_.path.string(),
      drive_.model.empty() ? "a drive without a model name" : drive_.model, drive_.serial,
      decimal(static_cast<double>(drive_.bytes)),
      drive_.ours ? ", left by an earlier run" : ", found empty");
  text += fmt::format("The run writes {} a step, {} in {:.0f} steps: ",
                      decimal(wear.written_bytes_per_step), decimal(written), wear.steps);
  if (wear.rated_write_bytes && *wear.rated_write_bytes > 0) {
    text += fmt::format("{:.2g} % of the {} it is rated for.\n",
                        100 * written / *wear.rated_write_bytes, decimal(*wear.rated_write_bytes));
  } else {
    text += "its rating is not known.\n";
  }
  return text + "Type its serial number to go on: ";
}

RawDevice RawGate::open(const std::string& typed) && {
  ENSURE(held_.has_value(), "a gate opens once");
  ENSURE(stated_, "the projected wear is shown before a raw device is opened");
  if (typed != drive_.serial) {
    refuse(fmt::format("\"{}\" was typed, the serial number of {} is {}", typed,
                       drive_.path.string(), drive_.serial),
           "nothing was written; run again and type it");
  }
  const Found device = find_device(layer_, drive_.path);
  if (layer_.number_of(held_->fd()) != device.number)
    refuse(drive_.path.string() + " became another device while the number was typed", "run again");
  look(layer_, device, drive_.serial);
  search(layer_, held_->fd(), drive_);
  write_mark(layer_, held_->fd(), drive_.bytes, drive_.serial);
  HeldDevice held = std::move(*held_);
  held_.reset();
  return RawDevice(layer_, std::move(held), drive_);
}

}  // namespace spillway::hw_backend
