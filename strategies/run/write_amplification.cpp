#include "strategies/run/write_amplification.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/memory/extents.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::strategies {

namespace {

/// From so many objects on, a block's are as good as infinitely many.
constexpr std::uint64_t many_objects = 1024;
constexpr double rounding = 1e-9;

/// Blocks lose objects one by one, and the emptiest is erased: all blocks hold `least` objects or
/// more. Of a flow of f blocks (in units of an object's rate), f / j hold j objects while j >
/// least, and the rest, at most f / least, hold `least`. Blocks add up to 1 and objects to the live
/// share; of the `least` for which both hold, each block takes `objects` writes, live_share *
/// objects of them from outside.
double greedy_waf_of(std::uint64_t objects, double live_share) {
  const auto all = static_cast<double>(objects);
  double above = 0;  // sum of 1 / j for least < j <= objects
  for (std::uint64_t least = objects - 1; least > 0; --least) {
    const auto held = static_cast<double>(least);
    above += 1 / (held + 1);
    const double flow = (1 - live_share * all / held) / (above - (all - held) / held);
    const double waiting = (live_share * all - (all - held) * flow) / held;
    if (waiting >= -rounding && waiting <= flow / held + rounding)
      return std::max(1.0, flow / live_share);
  }
  return 1;  // blocks become empty by themselves
}

double bytes_of(const WriteSize& size) {
  return static_cast<double>(size.bytes) * static_cast<double>(size.count);
}

}  // namespace

double random_write_waf(double live_share) {
  ENSURE(live_share < 1, "a drive without spare flash cannot be overwritten");
  if (live_share <= 0) return 1;
  // x = -W(-a exp(-a)) is the root below 1 of x exp(-x) = a exp(-a), that is of x - ln x = a - ln
  // a; the left side is convex and falls, so Newton's steps from a smaller x never pass the root
  const double a = 1 / live_share;
  const double goal = a - std::log(a);
  double x = a * std::exp(-a);
  if (x <= 0) return 1;
  for (int step = 0; step < 200; ++step) {
    const double next = x + (x - std::log(x) - goal) * x / (1 - x);
    if (next - x <= 1e-15 * x) break;
    x = next;
  }
  return a / (a - x);
}

double greedy_waf(double objects_per_block, double live_share) {
  ENSURE(objects_per_block >= 1, "a block holds an object at least");
  ENSURE(live_share < 1, "a drive without spare flash cannot be overwritten");
  if (live_share <= 0) return 1;
  if (objects_per_block >= static_cast<double>(many_objects)) return random_write_waf(live_share);
  const auto fewer = static_cast<std::uint64_t>(objects_per_block);
  const double part = objects_per_block - static_cast<double>(fewer);
  const double low = greedy_waf_of(fewer, live_share);
  return part == 0 ? low : low + part * (greedy_waf_of(fewer + 1, live_share) - low);
}

double live_share(const description::StorageSpec& storage, double live_bytes) {
  const auto capacity = static_cast<double>(storage.capacity.value());
  if (capacity <= 0 || !storage.endurance) return 0;
  const description::EnduranceSpec& endurance = *storage.endurance;
  const double held =
      live_bytes / static_cast<double>(storage.count) + static_cast<double>(endurance.held.value());
  const double data = endurance.trimmed ? std::min(held, capacity) : capacity;
  return data / (capacity * (1 + endurance.over_provisioning));
}

double workload_waf(const description::StorageSpec& storage, const WriteSizes& writes,
                    double live_bytes) {
  if (!storage.endurance) return 1;
  const description::EnduranceSpec& endurance = *storage.endurance;
  if (endurance.waf) return *endurance.waf;
  const double live = live_share(storage, live_bytes);
  const auto block = static_cast<double>(endurance.erase_block.value());
  double written = 0, flash = 0;
  for (const WriteSize& size : writes.all()) {
    const std::uint64_t part = busiest_drive(size.bytes, storage.count);
    const std::uint64_t unit = endurance.mapping_unit.value();
    const double padded = static_cast<double>(description::divide_up(part, unit) * unit);
    written += bytes_of(size);
    flash +=
        bytes_of(size) * padded / static_cast<double>(part) * greedy_waf(1 + block / padded, live);
  }
  return written > 0 ? flash / written : 1;
}

}  // namespace spillway::strategies
