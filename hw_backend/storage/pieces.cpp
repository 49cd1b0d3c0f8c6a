#include "hw_backend/storage/pieces.hpp"

#include <algorithm>

namespace spillway::hw_backend {

RegisteredMemory::RegisteredRange RegisteredMemory::find(const std::byte* memory) const {
  auto after = segments_.upper_bound(memory);
  if (after == segments_.begin()) return {};
  const auto& [base, segment] = *std::prev(after);
  const auto inside = static_cast<std::uint64_t>(memory - base);
  if (inside >= segment.bytes) return {};
  return {segment.slot, segment.bytes - inside};
}

Piece next_piece(const Transfer& transfer, std::uint64_t done, std::uint64_t block_size,
                 const RegisteredMemory& registered) {
  const Alignment& alignment = transfer.target->alignment();
  const std::uint64_t left = transfer.bytes - done;
  Piece piece{.offset = transfer.offset + done, .memory = transfer.memory + done};

  const std::uint64_t into_sector = piece.offset % alignment.offset;
  if (into_sector != 0 || left < alignment.offset) {
    piece.offset -= into_sector;
    piece.bytes = alignment.offset;
    piece.skip = into_sector;
    piece.wanted = std::min(left, alignment.offset - into_sector);
    piece.bounced = true;
    return piece;
  }
  piece.bytes = std::min(left, block_size);
  piece.bytes -= piece.bytes % alignment.offset;
  piece.bounced = reinterpret_cast<std::uintptr_t>(piece.memory) % alignment.memory != 0;
  if (!piece.bounced) {
    const RegisteredMemory::RegisteredRange place = registered.find(piece.memory);
    const std::uint64_t room = place.bytes - place.bytes % alignment.offset;
    // A sector that straddles two segments goes unregistered, and alone.
    if (room == 0) piece.bytes = alignment.offset;
    if (room != 0) piece.bytes = std::min(piece.bytes, room), piece.slot = place.slot;
  }
  piece.wanted = piece.bytes;
  return piece;
}

}  // namespace spillway::hw_backend
