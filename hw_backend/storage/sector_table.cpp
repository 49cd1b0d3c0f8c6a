#include "hw_backend/storage/sector_table.hpp"

#include <fmt/format.h>
#include <xxhash.h>
#include <algorithm>

namespace spillway::hw_backend {

std::vector<SectorTable::Span> SectorTable::spans(std::uint64_t offset, const std::byte* memory,
                                                  std::uint64_t bytes) {
  std::vector<Span> out;
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t at = offset + done;
    const auto from = static_cast<std::uint32_t>(at % sector);
    const auto length =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(sector - from, bytes - done));
    out.push_back({at / sector, from, from + length, memory ? memory + done : nullptr});
    done += length;
  }
  return out;
}

void SectorTable::renew(Record& record, const Span& span) {
  record.before = record.hash;
  record.hash = XXH3_64bits(span.memory, span.to - span.from);
  record.known = true;
  ++record.generation;
}

void SectorTable::wrote(std::uint64_t offset, const std::byte* memory, std::uint64_t bytes) {
  for (const Span& span : spans(offset, memory, bytes)) {
    if (span.whole()) {
      if (whole_.size() <= span.index) whole_.resize(span.index + 1);
      renew(whole_[span.index], span);
      pieces_.erase(span.index);
      continue;
    }
    Piece piece{.from = span.from, .to = span.to, .record = {}};
    const auto known = pieces_.find(span.index);
    if (known != pieces_.end()) {
      for (const Piece& old : known->second) {
        if (old.from == span.from && old.to == span.to) piece.record = old.record;
      }
    }
    renew(piece.record, span);
    std::vector<Piece>& pieces = cut(span);
    const auto after = std::find_if(pieces.begin(), pieces.end(),
                                    [&](const Piece& other) { return other.from >= span.to; });
    pieces.insert(after, piece);
  }
}

std::vector<SectorTable::Piece>& SectorTable::cut(const Span& span) {
  std::vector<Piece>& pieces = pieces_[span.index];
  if (span.index < whole_.size() && whole_[span.index].generation > 0) {
    pieces = {{.from = 0, .to = sector, .record = whole_[span.index]}};
    whole_[span.index] = {};
  }
  std::vector<Piece> left;
  for (Piece piece : pieces) {
    if (piece.to <= span.from || piece.from >= span.to) {
      left.push_back(piece);
      continue;
    }
    piece.record.known = false;
    if (piece.from < span.from) left.push_back({piece.from, span.from, piece.record});
    if (piece.to > span.to) left.push_back({span.to, piece.to, piece.record});
  }
  pieces = std::move(left);
  return pieces;
}

void SectorTable::forget(std::uint64_t offset, std::uint64_t bytes) {
  for (const Span& span : spans(offset, nullptr, bytes)) {
    if (span.whole()) {
      if (span.index < whole_.size()) whole_[span.index] = {};
      pieces_.erase(span.index);
    } else if (cut(span).empty()) {
      pieces_.erase(span.index);
    }
  }
}

SectorTable::Found SectorTable::check(std::uint64_t offset, const std::byte* memory,
                                      std::uint64_t bytes) const {
  Found found;
  for (const Span& span : spans(offset, memory, bytes)) {
    const Record* record = span.index < whole_.size() ? &whole_[span.index] : nullptr;
    if (!record || record->generation == 0) {
      found.fault = check_pieces(span, found.checked);
    } else if (span.whole()) {
      found.fault = compare(*record, span);
      found.checked += sector;
    }
    if (!found.fault.empty()) break;
  }
  return found;
}

std::string SectorTable::check_pieces(const Span& span, std::uint64_t& checked) const {
  std::uint32_t written_to = span.from;  // without a gap
  const auto found = pieces_.find(span.index);
  for (const Piece& piece : found == pieces_.end() ? std::vector<Piece>{} : found->second) {
    if (piece.to <= span.from || piece.from >= span.to) continue;
    if (piece.from <= written_to) written_to = piece.to;
    if (!piece.record.known || piece.from < span.from || piece.to > span.to) continue;
    const Span part{span.index, piece.from, piece.to, span.memory + (piece.from - span.from)};
    checked += piece.to - piece.from;
    std::string fault = compare(piece.record, part);
    if (!fault.empty()) return fault;
  }
  if (written_to >= span.to) return {};
  return fmt::format("at {}: read before anything was written there",
                     span.index * sector + written_to);
}

std::string SectorTable::compare(const Record& record, const Span& span) {
  const std::size_t bytes = span.to - span.from;
  const std::uint64_t hash = XXH3_64bits(span.memory, bytes);
  if (hash == record.hash) return {};
  const char* found = "none of the generations known: torn or changed";
  if (record.generation > 1 && hash == record.before) {
    found = "the generation before: stale, the last write is lost";
  } else if (std::all_of(span.memory, span.memory + bytes,
                         [](std::byte value) { return value == std::byte{0}; })) {
    found = "zeros: the write is lost";
  }
  return fmt::format("at {}: generation {} expected, but {} bytes hold {}", span.offset(),
                     record.generation, bytes, found);
}

}  // namespace spillway::hw_backend
