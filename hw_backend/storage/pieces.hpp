#pragma once

#include "hw_backend/storage/io_engine.hpp"

#include <map>

namespace spillway::hw_backend {

/// Memory that the kernel has pinned, by segments: it takes no buffer above 1 GiB.
class RegisteredMemory {
 public:
  static constexpr std::uint64_t segment_bytes = std::uint64_t{1} << 30;

  struct Segment {
    std::uint64_t bytes = 0;
    int slot = -1;
  };
  struct RegisteredRange {
    int slot = -1;                            ///< -1: not registered
    std::uint64_t bytes = ~std::uint64_t{0};  ///< to the end of the segment
  };

  void add(std::byte* base, Segment segment) { segments_.emplace(base, segment); }
  void remove(std::byte* base) { segments_.erase(base); }
  RegisteredRange find(const std::byte* memory) const;

 private:
  std::map<const std::byte*, Segment> segments_;
};

/// What one request moves, or a write's pair of them that reads the sector first.
struct Piece {
  std::uint64_t offset = 0;  ///< in the target; whole sectors where it is direct
  std::uint64_t bytes = 0;
  std::byte* memory = nullptr;  ///< the caller's, of the wanted bytes
  std::uint64_t skip = 0;       ///< where in the piece the wanted bytes begin
  std::uint64_t wanted = 0;     ///< how many they are
  bool bounced = false;         ///< through a buffer of the engine
  int slot = -1;                ///< of the registered segment that holds its memory

  bool partial() const { return wanted != bytes; }
};

/// The piece of a transfer that begins `done` bytes into it.
///   block_size  its bytes at most; a multiple of the target's alignment
Piece next_piece(const Transfer& transfer, std::uint64_t done, std::uint64_t block_size,
                 const RegisteredMemory& registered);

}  // namespace spillway::hw_backend
