#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace spillway::hw_backend {

/// What one target should hold: by sectors of 4096 bytes, how often each was written and the XXH3
/// hash of what it then held. 24 bytes a sector, 0.6 % of the data.
///   Part of a sector   is a piece of its own, with the hash of those bytes only. Of a piece that a
///                      later write cuts, or a read does not bring whole, nothing is checked
class SectorTable {
 public:
  static constexpr std::uint32_t sector = 4096;

  struct Found {
    std::uint64_t checked = 0;  ///< bytes whose hash was compared
    std::string fault;          ///< empty: as written. Else where and what
  };

  void wrote(std::uint64_t offset, const std::byte* memory, std::uint64_t bytes);
  /// Compares; stops at the first fault.
  Found check(std::uint64_t offset, const std::byte* memory, std::uint64_t bytes) const;
  /// [offset, offset + bytes) is as if never written.
  void forget(std::uint64_t offset, std::uint64_t bytes);

 private:
  struct Record {
    std::uint64_t hash = 0;
    std::uint64_t before = 0;      ///< the hash one generation earlier
    std::uint32_t generation = 0;  ///< 0: never written
    bool known = true;             ///< false: written, and cut since: no hash
  };
  /// A part of a sector, [from, to) within it.
  struct Piece {
    std::uint32_t from = 0, to = 0;
    Record record;
  };
  /// What a transfer touches of one sector.
  struct Span {
    std::uint64_t index = 0;
    std::uint32_t from = 0, to = 0;
    const std::byte* memory = nullptr;

    bool whole() const { return from == 0 && to == sector; }
    std::uint64_t offset() const { return index * sector + from; }
  };

  static std::vector<Span> spans(std::uint64_t offset, const std::byte* memory,
                                 std::uint64_t bytes);
  static void renew(Record& record, const Span& span);
  static std::string compare(const Record& record, const Span& span);
  /// Takes [from, to) out of the sector's pieces, which lie in order.
  std::vector<Piece>& cut(const Span& span);
  std::string check_pieces(const Span& span, std::uint64_t& checked) const;

  std::vector<Record> whole_;                           ///< by sector; grows as it is written
  std::map<std::uint64_t, std::vector<Piece>> pieces_;  ///< of sectors not written whole
};

}  // namespace spillway::hw_backend
