#pragma once

#include "scenarios/description/units.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace spillway::strategies {

/// Bytes [offset, offset + bytes) of a drive, in whole sectors: LBA = offset / storage_sector.
struct Extent {
  std::uint32_t drive = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Extent&) const = default;
};

/// Part of a request that one worker transfers to one drive.
struct Part {
  std::uint32_t drive = 0;
  std::uint64_t bytes = 0;  ///< whole sectors; the last part holds the padding
  bool operator==(const Part&) const = default;
};

/// Cuts a request into equal parts, one a worker, and deals them out over the drives: part i goes
/// to drive i mod drives. Boundaries are sectors, so parts differ by one sector at most; a request
/// of fewer sectors than workers has one part a sector.
///   Source  MemAscend, section IV-E (direct NVMe engine)
std::vector<Part> parts_of(std::uint64_t bytes, std::uint64_t workers, std::uint64_t drives);

/// Bytes of the busiest drive when such a request has one worker a drive. RAID 0 over sectors gives
/// the same.
std::uint64_t busiest_drive(std::uint64_t bytes, std::uint64_t drives);

/// A drive has no room for its part of a tensor. Nothing of the tensor was placed.
class DriveFull : public std::runtime_error {
 public:
  DriveFull(const std::string& drive, const std::string& tensor, std::uint64_t asked,
            std::uint64_t free, std::uint64_t capacity);
  std::uint64_t asked() const { return asked_; }
  std::uint64_t free() const { return free_; }
  std::uint64_t capacity() const { return capacity_; }

 private:
  std::uint64_t asked_, free_, capacity_;
};

/// Free space of one drive, or of one range of memory.
///   Invariant  holes lie apart from each other and inside the drive; they and what was taken are
///              the whole drive
class DriveSpace {
 public:
  /// `capacity` bytes, of which whole units can be used.
  explicit DriveSpace(std::uint64_t capacity, std::uint64_t unit = description::storage_sector);
  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t free() const { return free_; }
  /// Takes `bytes` <= free(), whole units: the first hole that holds them all, else holes from
  /// the front.  `taken` gets them, in order
  void take(std::uint32_t drive, std::uint64_t bytes, std::vector<Extent>& taken);
  /// Takes `bytes`, whole units, in one piece: at the begin of the first hole that holds them, or
  /// at the end of the last.
  ///   Result  its offset; none: no hole is so large
  std::optional<std::uint64_t> take_whole(std::uint64_t bytes, bool at_the_end);
  std::uint64_t largest_hole() const;
  void give_back(const Extent& extent);

 private:
  std::map<std::uint64_t, std::uint64_t> holes_;  ///< by offset: bytes
  std::uint64_t unit_, capacity_, free_;
};

/// The drives of one array, which all ranks of a node share: whoever places a tensor takes from the
/// same free space, so no two extents overlap.
class DriveArray {
 public:
  /// `name` and a drive's number make its name in errors.
  DriveArray(std::string name, const std::vector<std::uint64_t>& capacities);
  std::uint64_t drives() const { return spaces_.size(); }
  std::uint64_t free(std::uint32_t drive) const { return spaces_[drive].free(); }
  /// Room for all parts, or for none.  Throws  DriveFull naming `tensor`
  std::vector<Extent> take(const std::string& tensor, const std::vector<Part>& parts);
  void give_back(const std::vector<Extent>& extents);

 private:
  std::string name_;
  std::vector<DriveSpace> spaces_;
};

/// One rank's tensors and where they lie.
///   Invariant  a name keeps its place until it is forgotten
class TensorLocations {
 public:
  /// `array` outlives it.  workers  parts of a tensor (see parts_of)
  TensorLocations(DriveArray& array, std::uint64_t workers) : array_(array), workers_(workers) {}
  TensorLocations(const TensorLocations&) = delete;
  TensorLocations(TensorLocations&&) = default;
  ~TensorLocations();

  /// Where `tensor` lies, which is placed when it is new: over all drives, or on `drive`.
  ///   Result  its extents in the order of its bytes
  ///   Throws  DriveFull; std::invalid_argument when the name is known with another size
  const std::vector<Extent>& place(const std::string& tensor, std::uint64_t bytes,
                                   std::optional<std::uint32_t> drive = {});
  /// Its sectors are free for others; a name that is not known is nothing to do.
  void forget(const std::string& tensor);
  std::size_t size() const { return known_.size(); }

 private:
  struct Tensor {
    std::uint64_t bytes = 0;
    std::vector<Extent> extents;
  };
  DriveArray& array_;
  std::uint64_t workers_;
  std::unordered_map<std::string, Tensor> known_;
};

}  // namespace spillway::strategies
