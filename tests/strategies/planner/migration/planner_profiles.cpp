#include "tests/strategies/planner/migration/planner_profiles.hpp"

#include "strategies/planner/migration/relief.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace spillway::strategies::planner {

namespace {

using Random = std::mt19937_64;

std::uint64_t pick(Random& random, std::uint64_t low, std::uint64_t high) {
  return low + random() % (high - low + 1);
}

std::vector<ActiveRange> random_ranges(Random& random, std::uint32_t slots) {
  std::vector<std::uint32_t> ends;
  const std::uint64_t ranges = pick(random, 1, 4);
  for (std::uint64_t i = 0; i < 2 * ranges; ++i)
    ends.push_back(static_cast<std::uint32_t>(pick(random, 0, slots - 1)));
  std::sort(ends.begin(), ends.end());
  std::vector<ActiveRange> active;
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    if (!active.empty() && ends[i] <= active.back().last) continue;
    const auto last = std::min(ends[i + 1], ends[i] + 2);
    active.push_back({ends[i], last, true, random() % 2 == 0});
  }
  return active;
}

constexpr std::int64_t unlimited = std::int64_t{1} << 42;

std::int64_t times(double rate, std::int64_t ticks) {
  return std::min(unlimited, static_cast<std::int64_t>(rate * static_cast<double>(ticks)));
}

/// Ledgers as plain arrays.
class Slow {
 public:
  Slow(const Lifetimes& lifetimes, const PlanSettings& settings,
       const std::vector<std::int64_t>& ticks)
      : lifetimes_(lifetimes), settings_(settings), ticks_(ticks), alive_(alive_bytes(lifetimes)) {
    const Channels& channels = settings.channels;
    for (const std::int64_t length : ticks) {
      array_.push_back(
          static_cast<std::int64_t>(channels.mixed_efficiency * static_cast<double>(length)));
      host_[0].push_back(times(channels.host_out / ticks_per_second, length));
      host_[1].push_back(times(channels.host_in / ticks_per_second, length));
      link_[0].push_back(channels.link_out ? times(*channels.link_out / ticks_per_second, length)
                                           : unlimited);
      link_[1].push_back(channels.link_in ? times(*channels.link_in / ticks_per_second, length)
                                          : unlimited);
    }
    // no way takes more than the whole slot, whatever both together may
    ways_[0] = ways_[1] = ticks;
    for (std::size_t slot = 0; slot < ticks.size(); ++slot)
      idle_array_.push_back(std::min(array_[slot], ticks[slot]));
    idle_link_ = link_[0];
    on_host_.resize(ticks.size());
    in_file_.resize(lifetimes.tensors.size());
  }

  Plan run() {
    Plan plan;
    std::vector<IdleInterval> left;
    for (const IdleInterval& interval : idle_intervals(lifetimes_))
      if (bytes(interval) >= settings_.min_tensor && interval.end - interval.first >= 2)
        left.push_back(interval);
    std::vector<std::pair<std::int64_t, std::uint64_t>> gaps;
    for (const IdleInterval& interval : left) gaps.emplace_back(length(interval), bytes(interval));
    const auto& all = settings_.destinations;
    if (std::find(all.begin(), all.end(), Destination::ssd) != all.end())
      short_gap_ = short_gap(std::move(gaps), settings_.channels, ticks_);
    while (peak() > static_cast<std::int64_t>(settings_.capacity)) {
      std::size_t best = left.size();
      for (std::size_t i = 0; i < left.size(); ++i)
        if (rank(left[i]) > 0 && (best == left.size() || before(left[i], left[best]))) best = i;
      if (best == left.size()) break;
      accept(left[best], plan);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
    }
    return plan;
  }

 private:
  std::uint64_t bytes(const IdleInterval& interval) const {
    return lifetimes_.tensors[interval.tensor].bytes;
  }
  std::int64_t length(const IdleInterval& interval) const {
    std::int64_t sum = 0;
    for (std::uint32_t i = interval.first; i < interval.end; ++i) sum += ticks_[i % slots()];
    return sum;
  }
  std::int64_t peak() const {
    return static_cast<std::int64_t>(*std::max_element(alive_.begin(), alive_.end()));
  }

  bool before(const IdleInterval& one, const IdleInterval& other) const {
    const double first = rank(one), second = rank(other);
    if (first != second) return first > second;
    if (bytes(one) != bytes(other)) return bytes(one) > bytes(other);
    const std::uint64_t id = lifetimes_.tensors[one.tensor].id;
    const std::uint64_t other_id = lifetimes_.tensors[other.tensor].id;
    return id != other_id ? id < other_id : one.first < other.first;
  }

  std::int64_t free(Destination at, int way, std::uint32_t slot) const {
    const Channels& channels = settings_.channels;
    const double rate = (way == 0 ? channels.ssd_write : channels.ssd_read) / ticks_per_second;
    const std::int64_t own = at == Destination::ssd
                                 ? times(rate, std::min(array_[slot], ways_[way][slot]))
                                 : host_[way][slot];
    return std::min(own, link_[way][slot]);
  }

  bool has_room(const IdleInterval& interval, Destination at) const {
    const std::uint64_t size = (bytes(interval) + 4095) / 4096 * 4096;
    if (at == Destination::ssd)
      return !settings_.file_limit || in_file_[interval.tensor] ||
             file_ + size <= *settings_.file_limit;
    if (!settings_.host_limit) return true;
    for (std::uint32_t i = interval.first; i <= interval.end; ++i)
      if (on_host_[i % slots()] + size > *settings_.host_limit) return false;
    return true;
  }

  std::uint32_t slots() const { return static_cast<std::uint32_t>(ticks_.size()); }

  /// Away slots; first == second: none.
  std::pair<std::uint32_t, std::uint32_t> window(const IdleInterval& interval,
                                                 Destination at) const {
    if (!has_room(interval, at)) return {0, 0};
    const auto size = static_cast<std::int64_t>(bytes(interval));
    std::uint32_t e = interval.first, s = interval.end;
    std::int64_t sum = 0;
    for (; e < interval.end; ++e)
      if ((sum += free(at, 0, e % slots())) >= size) break;
    if (e == interval.end) return {0, 0};
    sum = 0;
    while (s > interval.first && sum < size) sum += free(at, 1, --s % slots());
    if (sum < size || e >= s) return {0, 0};
    return {e + 1, s};
  }

  ByteTime benefit(const IdleInterval& interval, Destination at) const {
    const auto [away, back] = window(interval, at);
    ByteTime sum = 0;
    for (std::uint32_t i = away; i < back; ++i) {
      const auto over = static_cast<std::int64_t>(alive_[i % slots()]) -
                        static_cast<std::int64_t>(settings_.capacity);
      const auto relief = std::min<std::int64_t>(static_cast<std::int64_t>(bytes(interval)),
                                                 std::max<std::int64_t>(0, over));
      sum += static_cast<ByteTime>(relief) * ticks_[i % slots()];
    }
    return sum;
  }

  double rank(const IdleInterval& interval) const {
    ByteTime most = 0;
    for (const Destination at : settings_.destinations)
      most = std::max(most, benefit(interval, at));
    const double exact =
        static_cast<double>(most) /
        settings_.channels.seconds(bytes(interval), settings_.destinations.front());
    int exponent = 0;  // 0.5 <= mantissa < 1: 16 steps
    const double mantissa = std::frexp(exact, &exponent);
    return std::ldexp(std::floor(mantissa * 32) / 32, exponent);
  }

  bool saturated(const IdleInterval& interval) const {
    if (settings_.saturation == Saturation::device_time) return length(interval) <= short_gap_;
    if (settings_.saturation == Saturation::no_window) return false;
    const double rate = settings_.channels.ssd_write / ticks_per_second;
    std::int64_t ideal = 0, now = 0;
    for (std::uint32_t i = interval.first; i < interval.end; ++i) {
      const std::uint32_t slot = i % slots();
      now += free(Destination::ssd, 0, slot);
      ideal += std::min(times(rate, idle_array_[slot]), idle_link_[slot]);
      if (ideal >= static_cast<std::int64_t>(bytes(interval))) return now == 0;
    }
    return true;
  }

  Destination destination(const IdleInterval& interval) const {
    if (settings_.destinations.size() == 1) return settings_.destinations.front();
    const bool ssd = benefit(interval, Destination::ssd) > 0;
    const bool host = benefit(interval, Destination::host) > 0;
    if (ssd && !saturated(interval)) return Destination::ssd;
    return host ? Destination::host : Destination::ssd;
  }

  void take(Destination at, int way, std::uint32_t slot, std::int64_t amount, Move& move) {
    if (amount == 0) return;
    const Channels& channels = settings_.channels;
    const double rate = (way == 0 ? channels.ssd_write : channels.ssd_read) / ticks_per_second;
    const auto busy = static_cast<std::int64_t>(std::ceil(static_cast<double>(amount) / rate));
    if (at == Destination::ssd)
      for (std::int64_t* free : {&array_[slot], &ways_[way][slot]}) *free -= std::min(*free, busy);
    else
      host_[way][slot] -= amount;
    if (link_[way][slot] < unlimited) link_[way][slot] -= amount;
    (way == 0 ? move.out : move.in).push_back({slot, amount});
  }

  void accept(const IdleInterval& interval, Plan& plan) {
    Move move;
    move.tensor = interval.tensor;
    move.first = interval.first;
    move.end = interval.end;
    move.destination = destination(interval);
    std::tie(move.away, move.back) = window(interval, move.destination);
    auto size = static_cast<std::int64_t>(bytes(interval));
    for (std::uint32_t i = interval.first; size > 0; ++i) {
      const std::int64_t now = std::min(size, free(move.destination, 0, i % slots()));
      take(move.destination, 0, i % slots(), now, move);
      size -= now;
    }
    size = static_cast<std::int64_t>(bytes(interval));
    for (std::uint32_t i = interval.end; size > 0; --i) {
      const std::int64_t now = std::min(size, free(move.destination, 1, (i - 1) % slots()));
      take(move.destination, 1, (i - 1) % slots(), now, move);
      size -= now;
    }
    const std::uint64_t room = (bytes(interval) + 4095) / 4096 * 4096;
    if (move.destination == Destination::host)
      for (std::uint32_t i = interval.first; i <= interval.end; ++i) on_host_[i % slots()] += room;
    else if (!in_file_[interval.tensor]) {
      in_file_[interval.tensor] = true;
      file_ += room;
    }
    for (std::uint32_t i = move.away; i < move.back; ++i) alive_[i % slots()] -= bytes(interval);
    plan.moves.push_back(move);
  }

  const Lifetimes& lifetimes_;
  const PlanSettings& settings_;
  const std::vector<std::int64_t>& ticks_;
  std::vector<std::uint64_t> alive_, on_host_;
  std::vector<std::int64_t> array_, ways_[2], idle_array_, idle_link_, host_[2], link_[2];
  std::vector<bool> in_file_;
  std::uint64_t file_ = 0;
  std::int64_t short_gap_ = 0;
};

}  // namespace

Lifetimes random_lifetimes(Random& random, std::uint32_t slots, std::uint32_t tensors) {
  Lifetimes lifetimes;
  double start = 0;
  for (std::uint32_t i = 0; i < slots; ++i) {
    const double duration = static_cast<double>(pick(random, 1, 40)) * 1e-3;
    lifetimes.kernels.push_back({"k", start, duration, 0});
    start += duration;
  }
  for (std::uint32_t i = 0; i < tensors; ++i) {
    LifetimeTensor tensor;
    tensor.id = 7 * i + 1;
    tensor.bytes = pick(random, 1, 60) * (1 << 20) + pick(random, 0, 2) * 12345;
    tensor.kind = static_cast<TensorKind>(i % 4);
    tensor.persistent = random() % 2 == 0;
    tensor.active = random_ranges(random, slots);
    lifetimes.tensors.push_back(tensor);
  }
  return lifetimes;
}

PlanSettings random_settings(Random& random, const Lifetimes& lifetimes) {
  PlanSettings settings;
  const auto rate = [&] { return static_cast<double>(pick(random, 1, 60)) * 1e8; };
  settings.channels.ssd_read = rate();
  settings.channels.ssd_write = rate();
  settings.channels.host_out = rate();
  settings.channels.host_in = rate();
  if (random() % 2) settings.channels.link_out = rate();
  if (random() % 2) settings.channels.link_in = rate();
  settings.channels.mixed_efficiency = random() % 2 ? 1.0 : random() % 2 ? 0.9 : 1.2;
  const int where = static_cast<int>(random() % 4);
  if (where != 0) settings.destinations.push_back(Destination::ssd);
  if (where != 1) settings.destinations.push_back(Destination::host);
  if (random() % 2) settings.host_limit = pick(random, 0, 400) << 20;
  if (random() % 4 == 0) settings.file_limit = pick(random, 0, 1000) << 20;
  settings.saturation = static_cast<Saturation>(random() % 3);
  const auto alive = alive_bytes(lifetimes), active = active_bytes(lifetimes);
  const std::uint64_t peak = *std::max_element(alive.begin(), alive.end());
  const std::uint64_t least = *std::max_element(active.begin(), active.end());
  settings.capacity = least + pick(random, 0, peak - least);
  return settings;
}

Plan plan_slowly(const Lifetimes& lifetimes, const PlanSettings& settings,
                 const std::vector<std::int64_t>& ticks) {
  return Slow(lifetimes, settings, ticks).run();
}

std::vector<std::uint64_t> pressure_of(const Lifetimes& lifetimes, const std::vector<Move>& moves) {
  std::vector<std::uint64_t> alive = alive_bytes(lifetimes);
  for (const Move& move : moves)
    for (std::uint32_t i = move.away; i < move.back; ++i)
      alive[i % alive.size()] -= lifetimes.tensors[move.tensor].bytes;
  return alive;
}

}  // namespace spillway::strategies::planner
