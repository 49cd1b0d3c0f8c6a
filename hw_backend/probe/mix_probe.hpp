#pragma once

#include "hw_backend/probe/transfer_stream.hpp"

#include <array>

namespace spillway::hw_backend {

/// Of the transfers in flight of a mix, those that are reads.
struct Mixture {
  std::size_t reads = 0, writes = 0;
};
/// 25, 50 and 75 % reads; all reads and all writes are measured as rates.
inline constexpr std::array<Mixture, 3> mixtures = {{{2, 6}, {4, 4}, {6, 2}}};

/// The size beside UringOptions::block_size: that of DeepSpeed's aio in the configurations that
/// many trainers copy, a quarter of its default, which is block_size.
inline constexpr std::uint64_t small_request = 256 << 10;

/// "1024 KiB requests"
std::string requests_of(std::uint64_t request_bytes);

/// A file for mixes, by a stream whose engine makes requests of one size.
struct MixedTraffic {
  std::string storage;  ///< its name
  std::uint64_t request_bytes = 0;
  Target* target = nullptr;
  std::uint64_t filled = 0;  ///< bytes from its beginning on that hold data
  double interval_s = 0;
  double interval_bytes = 0;  ///< at most, of an interval that writes
};

/// Bytes per second of each direction alone.
struct RatesAlone {
  double read = 0, write = 0;
};

/// The rates of `traffic`'s requests; they join the answer under names that no machine file has.
RatesAlone measure_alone(Session& session, TransferStream& stream, const MixedTraffic& traffic);

/// Reads the first half of the file while it writes the second. What each mixture moves joins the
/// answer.
///   alone   of requests of the same size
///   Result  storage.NAME.mixed_efficiency of that size, once an interval by all mixtures; it has
///           not joined the answer
Measurement measure_mixes(Session& session, TransferStream& stream, const MixedTraffic& traffic,
                          const RatesAlone& alone);

}  // namespace spillway::hw_backend
