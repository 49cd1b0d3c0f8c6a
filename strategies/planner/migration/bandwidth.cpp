#include "strategies/planner/migration/bandwidth.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spillway::strategies::planner {

namespace {

/// What stands for no limit in one slot: sums of a million of them do not overflow.
constexpr std::int64_t unlimited = std::int64_t{1} << 42;

/// Ticks that no slot has.
constexpr std::int64_t any_time = std::int64_t{1} << 62;

std::int64_t bytes_of(double rate, std::int64_t ticks) {
  const double bytes = rate * static_cast<double>(ticks);
  return bytes >= static_cast<double>(unlimited) ? unlimited : static_cast<std::int64_t>(bytes);
}

}  // namespace

double Channels::seconds(std::uint64_t bytes, Destination at) const {
  const auto amount = static_cast<double>(bytes);
  return amount / out(at) + amount / in(at) + 2 * latency(at);
}

Bandwidth::Bandwidth(const Channels& channels, const std::vector<std::int64_t>& ticks)
    : slots_(static_cast<std::uint32_t>(ticks.size())),
      write_rate_(channels.ssd_write / ticks_per_second),
      read_rate_(channels.ssd_read / ticks_per_second) {
  ENSURE(slots_ > 0, "a ledger of no slots");
  while (highest_ <= slots_ / 2) highest_ *= 2;
  for (const std::int64_t length : ticks) {
    array_.push_back(
        static_cast<std::int64_t>(channels.mixed_efficiency * static_cast<double>(length)));
    for (auto& way : array_ways_) way.push_back(channels.mixed_efficiency > 1 ? length : any_time);
    host_[0].push_back(bytes_of(channels.host_out / ticks_per_second, length));
    host_[1].push_back(bytes_of(channels.host_in / ticks_per_second, length));
    const auto link = [&](const std::optional<double>& rate) {
      return rate ? bytes_of(*rate / ticks_per_second, length) : unlimited;
    };
    link_[0].push_back(link(channels.link_out));
    link_[1].push_back(link(channels.link_in));
  }
  for (std::size_t which = 0; which < paths_.size(); ++which) {
    Path& path = paths_[which];
    path.free.resize(slots_);
    path.sums.assign(slots_ + 1, 0);
    path.next.resize(slots_ + 1);
    path.previous.resize(slots_ + 1);
    std::iota(path.next.begin(), path.next.end(), 0u);
    std::iota(path.previous.begin(), path.previous.end(), 0u);
  }
  for (std::uint32_t slot = 0; slot < slots_; ++slot) refresh(slot);
}

std::int64_t Bandwidth::path_free(std::size_t path, std::uint32_t slot) const {
  const std::size_t way = path % 2;
  const std::int64_t own = path / 2 == static_cast<std::size_t>(Destination::host)
                               ? host_[way][slot]
                               : bytes_of(way == 0 ? write_rate_ : read_rate_,
                                          std::min(array_[slot], array_ways_[way][slot]));
  return std::min(own, link_[way][slot]);
}

void Bandwidth::refresh(std::uint32_t slot) {
  for (std::size_t which = 0; which < paths_.size(); ++which) {
    Path& path = paths_[which];
    const std::int64_t now = path_free(which, slot);
    const std::int64_t change = now - path.free[slot];
    if (now == 0) {
      path.next[slot] = slot + 1;
      path.previous[slot + 1] = slot;
    }
    if (change == 0) continue;
    path.free[slot] = now;
    path.total += change;
    for (std::uint32_t i = slot + 1; i <= slots_; i += i & (~i + 1)) path.sums[i] += change;
  }
}

std::int64_t Bandwidth::prefix(const Path& path, std::uint64_t slot) const {
  std::int64_t sum = static_cast<std::int64_t>(slot / slots_) * path.total;
  for (auto i = static_cast<std::uint32_t>(slot % slots_); i > 0; i &= i - 1) sum += path.sums[i];
  return sum;
}

/// Smallest i with prefix(i) >= sum, of the circle unrolled; sum at most twice the total.
std::uint64_t Bandwidth::lower_bound(const Path& path, std::int64_t sum) const {
  if (sum <= 0) return 0;
  const std::uint64_t round = sum > path.total ? slots_ : 0;
  if (round) sum -= path.total;
  std::uint32_t at = 0;
  for (std::uint32_t step = highest_; step > 0; step /= 2)
    if (at + step <= slots_ && path.sums[at + step] < sum) {
      at += step;
      sum -= path.sums[at];
    }
  return round + at + 1;
}

std::optional<std::uint32_t> Bandwidth::earliest_end(Destination to, std::uint32_t first,
                                                     std::uint32_t end, std::int64_t bytes) const {
  const Path& path = paths_[index(to, Way::out)];
  const std::int64_t wanted = prefix(path, first) + bytes;
  if (wanted > prefix(path, end)) return {};
  return static_cast<std::uint32_t>(lower_bound(path, wanted) - 1);
}

std::optional<std::uint32_t> Bandwidth::latest_start(Destination from, std::uint32_t first,
                                                     std::uint32_t end, std::int64_t bytes) const {
  const Path& path = paths_[index(from, Way::in)];
  const std::int64_t left = prefix(path, end) - bytes;
  if (left < prefix(path, first)) return {};
  return static_cast<std::uint32_t>(lower_bound(path, left + 1) - 1);
}

std::int64_t Bandwidth::free(Destination at, Way way, std::uint32_t first,
                             std::uint32_t end) const {
  const Path& path = paths_[index(at, way)];
  return prefix(path, end) - prefix(path, first);
}

void Bandwidth::take(Destination at, Way way, std::uint32_t slot, std::int64_t bytes) {
  const auto direction = static_cast<std::size_t>(way);
  if (at == Destination::host) {
    host_[direction][slot] -= bytes;
  } else {
    const double rate = way == Way::out ? write_rate_ : read_rate_;
    const double ticks = static_cast<double>(bytes) / rate;
    for (std::int64_t* free : {&array_[slot], &array_ways_[direction][slot]})
      *free = bytes > 0
                  ? std::max<std::int64_t>(0, *free - static_cast<std::int64_t>(std::ceil(ticks)))
                  : *free - static_cast<std::int64_t>(std::floor(ticks));
  }
  if (link_[direction][slot] < unlimited) link_[direction][slot] -= bytes;
  refresh(slot);
}

std::uint32_t Bandwidth::next(Path& path, std::uint32_t slot) {
  while (path.next[slot] != slot) {
    path.next[slot] = path.next[path.next[slot]];
    slot = path.next[slot];
  }
  return slot;
}

std::uint32_t Bandwidth::previous(Path& path, std::uint32_t slot_plus_one) {
  while (path.previous[slot_plus_one] != slot_plus_one) {
    path.previous[slot_plus_one] = path.previous[path.previous[slot_plus_one]];
    slot_plus_one = path.previous[slot_plus_one];
  }
  return slot_plus_one;
}

std::vector<Booking> Bandwidth::book_out(Destination to, std::uint32_t first, std::int64_t bytes) {
  Path& path = paths_[index(to, Way::out)];
  std::vector<Booking> bookings;
  std::uint32_t slot = first % slots_;
  while (bytes > 0) {
    slot = next(path, slot);
    if (slot == slots_) {
      slot = 0;
      continue;
    }
    const std::int64_t now = std::min(bytes, path.free[slot]);
    take(to, Way::out, slot, now);
    bookings.push_back({slot, now});
    bytes -= now;
    ++slot;
  }
  return bookings;
}

std::vector<Booking> Bandwidth::book_in(Destination from, std::uint32_t end, std::int64_t bytes) {
  Path& path = paths_[index(from, Way::in)];
  std::vector<Booking> bookings;
  std::uint32_t before = end % slots_ == 0 ? slots_ : end % slots_;
  while (bytes > 0) {
    before = previous(path, before);
    if (before == 0) {
      before = slots_;
      continue;
    }
    const std::int64_t now = std::min(bytes, path.free[before - 1]);
    take(from, Way::in, before - 1, now);
    bookings.push_back({before - 1, now});
    bytes -= now;
    --before;
  }
  return bookings;
}

std::vector<Booking> Bandwidth::book_in_early(Destination from, std::uint32_t first,
                                              std::uint32_t end, std::int64_t bytes) {
  std::vector<Booking> bookings;
  for (std::uint32_t i = first; i < end && bytes > 0; ++i) {
    const std::uint32_t slot = i % slots_;
    const std::int64_t now = std::min(bytes, paths_[index(from, Way::in)].free[slot]);
    if (now == 0) continue;
    take(from, Way::in, slot, now);
    bookings.push_back({slot, now});
    bytes -= now;
  }
  ENSURE(bytes == 0, "a prefetch that was released no longer fits");
  return bookings;
}

void Bandwidth::release(Destination at, Way way, const std::vector<Booking>& bookings) {
  for (const Booking& booking : bookings) take(at, way, booking.slot, -booking.bytes);
}

}  // namespace spillway::strategies::planner
