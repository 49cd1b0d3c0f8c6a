#include "strategies/memory/extents.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/units.hpp"

#include <algorithm>

namespace spillway::strategies {

std::vector<Part> parts_of(std::uint64_t bytes, std::uint64_t workers, std::uint64_t drives) {
  const std::uint64_t sectors = description::divide_up(bytes, description::storage_sector);
  const std::uint64_t count = std::min(std::max<std::uint64_t>(1, workers), sectors);
  std::vector<Part> parts(count);
  if (count == 0) return parts;
  // the first sectors % count parts have one sector more; no product that could overflow
  for (std::uint64_t i = 0; i < count; ++i)
    parts[i] = {static_cast<std::uint32_t>(i % drives),
                (sectors / count + (i < sectors % count ? 1 : 0)) * description::storage_sector};
  return parts;
}

std::uint64_t busiest_drive(std::uint64_t bytes, std::uint64_t drives) {
  const std::uint64_t sectors = description::divide_up(bytes, description::storage_sector);
  return description::divide_up(sectors, drives) * description::storage_sector;
}

DriveFull::DriveFull(const std::string& drive, const std::string& tensor, std::uint64_t asked,
                     std::uint64_t free, std::uint64_t capacity)
    : std::runtime_error("drive " + drive + " has no room for " + tensor + ": its part is " +
                         std::to_string(asked) + " B, " + std::to_string(free) + " B are free"),
      asked_(asked),
      free_(free),
      capacity_(capacity) {}

// ---- One drive

DriveSpace::DriveSpace(std::uint64_t capacity, std::uint64_t unit)
    : unit_(unit), capacity_(capacity / unit * unit), free_(capacity_) {
  if (capacity_) holes_[0] = capacity_;
}

void DriveSpace::take(std::uint32_t drive, std::uint64_t bytes, std::vector<Extent>& taken) {
  ENSURE(bytes <= free_ && bytes % unit_ == 0, "more of a drive is taken than it has");
  free_ -= bytes;
  auto hole = std::find_if(holes_.begin(), holes_.end(),
                           [&](const auto& candidate) { return candidate.second >= bytes; });
  if (hole == holes_.end()) hole = holes_.begin();  // in pieces, from the front
  while (bytes > 0) {
    const auto [offset, size] = *hole;
    const std::uint64_t used = std::min(bytes, size);
    taken.push_back({drive, offset, used});
    bytes -= used;
    hole = holes_.erase(hole);
    if (used < size) hole = holes_.emplace_hint(hole, offset + used, size - used);
  }
}

std::optional<std::uint64_t> DriveSpace::take_whole(std::uint64_t bytes, bool at_the_end) {
  ENSURE(bytes > 0 && bytes % unit_ == 0, "a piece of no whole units");
  const auto holds = [&](const auto& hole) { return hole.second >= bytes; };
  auto hole = holes_.end();
  if (at_the_end) {
    const auto last = std::find_if(holes_.rbegin(), holes_.rend(), holds);
    if (last != holes_.rend()) hole = std::prev(last.base());
  } else {
    hole = std::find_if(holes_.begin(), holes_.end(), holds);
  }
  if (hole == holes_.end()) return std::nullopt;
  free_ -= bytes;
  const auto [offset, size] = *hole;
  if (at_the_end) {
    hole->second -= bytes;
    if (size == bytes) holes_.erase(hole);
    return offset + size - bytes;
  }
  hole = holes_.erase(hole);
  if (bytes < size) holes_.emplace_hint(hole, offset + bytes, size - bytes);
  return offset;
}

std::uint64_t DriveSpace::largest_hole() const {
  std::uint64_t largest = 0;
  for (const auto& [offset, bytes] : holes_) largest = std::max(largest, bytes);
  return largest;
}

void DriveSpace::give_back(const Extent& extent) {
  if (extent.bytes == 0) return;
  std::uint64_t offset = extent.offset, bytes = extent.bytes;
  free_ += bytes;
  auto next = holes_.lower_bound(offset);
  ENSURE(offset + bytes <= capacity_ && (next == holes_.end() || offset + bytes <= next->first),
         "an extent is given back that was not taken");
  if (next != holes_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = holes_.erase(next);
  }
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    ENSURE(before->first + before->second <= offset, "an extent is given back that was not taken");
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  holes_.emplace_hint(next, offset, bytes);
}

// ---- The drives of an array

DriveArray::DriveArray(std::string name, const std::vector<std::uint64_t>& capacities)
    : name_(std::move(name)), spaces_(capacities.begin(), capacities.end()) {
  ENSURE(!spaces_.empty(), "an array without drives");
}

std::vector<Extent> DriveArray::take(const std::string& tensor, const std::vector<Part>& parts) {
  std::vector<std::uint64_t> asked(spaces_.size());
  for (const Part& part : parts) asked[part.drive] += part.bytes;
  for (std::uint32_t drive = 0; drive < asked.size(); ++drive)
    if (asked[drive] > spaces_[drive].free())
      throw DriveFull(name_ + "[" + std::to_string(drive) + "]", tensor, asked[drive],
                      spaces_[drive].free(), spaces_[drive].capacity());
  std::vector<Extent> extents;
  for (const Part& part : parts) spaces_[part.drive].take(part.drive, part.bytes, extents);
  return extents;
}

void DriveArray::give_back(const std::vector<Extent>& extents) {
  for (const Extent& extent : extents) spaces_[extent.drive].give_back(extent);
}

// ---- The dictionary

TensorLocations::~TensorLocations() {
  for (const auto& [name, tensor] : known_) array_.give_back(tensor.extents);
}

const std::vector<Extent>& TensorLocations::place(const std::string& tensor, std::uint64_t bytes,
                                                  std::optional<std::uint32_t> drive) {
  if (const auto found = known_.find(tensor); found != known_.end()) {
    if (found->second.bytes != bytes)
      throw std::invalid_argument(tensor + " has " + std::to_string(found->second.bytes) +
                                  " B and a place of that size, not " + std::to_string(bytes) +
                                  " B");
    return found->second.extents;
  }
  std::vector<Part> parts = parts_of(bytes, drive ? 1 : workers_, array_.drives());
  if (drive)
    for (Part& part : parts) part.drive = *drive;
  Tensor placed{bytes, array_.take(tensor, parts)};
  return known_.emplace(tensor, std::move(placed)).first->second.extents;
}

void TensorLocations::forget(const std::string& tensor) {
  const auto found = known_.find(tensor);
  if (found == known_.end()) return;
  array_.give_back(found->second.extents);
  known_.erase(found);
}

}  // namespace spillway::strategies
