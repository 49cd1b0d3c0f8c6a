#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace spillway::hw_backend {

/// What one target should hold: by sectors of 4096 bytes, how often each was written and the XXH3
/// hash of what it then held. 24 bytes a sector, 0.6 % of the data.
///   Part of a sector   is kept as a piece of its own: its hash is of those bytes only. Reading
///                      less than a piece checks nothing of it
class SectorTable {
 public:
  static constexpr std::uint64_t sector = 4096;

  struct Found {
    std::uint64_t checked = 0;  ///< bytes whose hash was compared
    std::string fault;          ///< empty: as written. Else where and what, for a DeviceError
  };

  void wrote(std::uint64_t offset, const std::byte* memory, std::uint64_t bytes);
  /// Compares; stops at the first fault.
  Found check(std::uint64_t offset, const std::byte* memory, std::uint64_t bytes,
              bool may_read_unwritten) const;
  void forget(std::uint64_t offset, std::uint64_t bytes);

 private:
  struct Record {
    std::uint64_t hash = 0;
    std::uint64_t before = 0;      ///< the hash one generation earlier
    std::uint32_t generation = 0;  ///< 0: never written
  };
  /// A part of a sector, [from, to) within it.
  struct Piece {
    std::uint32_t from = 0, to = 0;
    Record record;
  };
  struct Span;

  void wrote_part(const Span& span);
  std::string check_part(const Span& span, bool may_read_unwritten, std::uint64_t& checked) const;
  static std::string compare(const Record& record, const Span& span);

  std::vector<Record> whole_;                          ///< by sector; grows as it is written
  std::map<std::uint64_t, std::vector<Piece>> parts_;  ///< of sectors not written whole
};

}  // namespace spillway::hw_backend
