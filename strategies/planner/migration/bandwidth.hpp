#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace spillway::strategies::planner {

/// Time of a plan is in whole picoseconds, so that equal profiles give equal plans to the byte.
inline constexpr double ticks_per_second = 1e12;

enum class Destination : std::uint8_t { ssd, host };

/// What a GPU's transfers go through; bytes/s, of this GPU's share.
struct Channels {
  double ssd_read = 0, ssd_write = 0;  ///< of the array, which either reads or writes; 0: none
  /// r/R + w/W of the array where as much is read as written; beyond 1 where ways hide each other.
  double mixed_efficiency = 1;
  double host_out = 0, host_in = 0;         ///< GPU to host and back, at once; 0: none
  std::optional<double> link_out, link_in;  ///< that SSD and host traffic share; absent: no limit
  double ssd_latency_s = 0, host_latency_s = 0;

  double out(Destination to) const { return to == Destination::ssd ? ssd_write : host_out; }
  double in(Destination from) const { return from == Destination::ssd ? ssd_read : host_in; }
  double latency(Destination at) const {
    return at == Destination::ssd ? ssd_latency_s : host_latency_s;
  }
  /// Uncontended, there and back: seconds.
  double seconds(std::uint64_t bytes, Destination at) const;
};

/// Bytes booked in one slot.
struct Booking {
  std::uint32_t slot = 0;
  std::int64_t bytes = 0;
  bool operator==(const Booking&) const = default;
};

/// Which way a destination's bytes go.
enum class Way : std::uint8_t { out, in };

/// What each channel has free in each slot of the circle, and the bytes that each way to and from
/// a destination can still take, which is what its channels leave: two ways that share a channel
/// take from each other.
class Bandwidth {
 public:
  Bandwidth(const Channels& channels, const std::vector<std::int64_t>& ticks);

  /// Smallest slot e >= first, before `end`, with `bytes` free in [first, e]; slots of the circle
  /// count on beyond its end.
  std::optional<std::uint32_t> earliest_end(Destination to, std::uint32_t first, std::uint32_t end,
                                            std::int64_t bytes) const;
  /// Largest slot s < end, not before `first`, with `bytes` free in [s, end).
  std::optional<std::uint32_t> latest_start(Destination from, std::uint32_t first,
                                            std::uint32_t end, std::int64_t bytes) const;
  /// Bytes free in [first, end).
  std::int64_t free(Destination at, Way way, std::uint32_t first, std::uint32_t end) const;

  /// Takes `bytes` from `first` on, as early as there is room; it was found before.
  std::vector<Booking> book_out(Destination to, std::uint32_t first, std::int64_t bytes);
  /// Takes `bytes` before `end`, as late as there is room.
  std::vector<Booking> book_in(Destination from, std::uint32_t end, std::int64_t bytes);
  /// Takes what fits of `bytes` into one slot, slot by slot from `first`: of plans that are moved
  /// after they were made.
  std::vector<Booking> book_in_early(Destination from, std::uint32_t first, std::uint32_t end,
                                     std::int64_t bytes);
  void release(Destination at, Way way, const std::vector<Booking>& bookings);

 private:
  /// Free bytes by slot, their sums in a Fenwick tree, and the next slots that have any.
  struct Path {
    std::vector<std::int64_t> free, sums;
    std::vector<std::uint32_t> next, previous;  ///< union-find; slots_ and 0 are the ends
    std::int64_t total = 0;
  };

  static std::size_t index(Destination at, Way way) {
    return 2 * static_cast<std::size_t>(at) + static_cast<std::size_t>(way);
  }
  std::int64_t prefix(const Path& path, std::uint64_t slot) const;
  std::uint64_t lower_bound(const Path& path, std::int64_t sum) const;
  std::int64_t path_free(std::size_t path, std::uint32_t slot) const;
  void refresh(std::uint32_t slot);
  void take(Destination at, Way way, std::uint32_t slot, std::int64_t bytes);
  std::uint32_t next(Path& path, std::uint32_t slot);
  std::uint32_t previous(Path& path, std::uint32_t slot_plus_one);

  std::uint32_t slots_;
  double write_rate_, read_rate_;                         ///< of the array, bytes per tick
  std::vector<std::int64_t> array_;                       ///< free ticks of both ways together
  std::array<std::vector<std::int64_t>, 2> array_ways_;   ///< ... of each, where they are fewer
  std::array<std::vector<std::int64_t>, 2> host_, link_;  ///< free bytes, by way
  std::array<Path, 4> paths_;
  std::uint32_t highest_ = 1;  ///< power of two <= slots_
};

}  // namespace spillway::strategies::planner
