#include "scenarios/description/machine_file.hpp"

#include <algorithm>
#include <functional>
#include <string>

// What follows from a machine's numbers: memory that is left, rates that are reached together, its
// price.
namespace spillway::description {

namespace {
/// Never 0, which would be no limit.
Bytes without(Bytes memory, Bytes reserve) {
  if (memory == Bytes{}) return memory;
  return Bytes(std::max<std::uint64_t>(1, memory.value() - std::min(memory, reserve).value()));
}
}  // namespace

Bytes GpuSpec::usable() const { return without(memory, reserve); }
Bytes HostSpec::usable() const { return without(memory, reserve); }

double HostSpec::team_share(double teams) const {
  double last = 1, at = 1;
  for (const auto& [number, share] : team_rates) {  // "2", "4", "8"
    const double next = std::stod(number);
    if (teams < next) return last + (share - last) * std::max(0.0, teams - at) / (next - at);
    last = share;
    at = next;
  }
  return last;
}

double HostSpec::adams_of_lion(double bytes, double by_adam) const {
  return lion ? adam / *lion : bytes / by_adam;
}

Bytes default_host_reserve(Bytes memory) {
  return Bytes(
      std::min(std::max<std::uint64_t>(4ull << 30, memory.value() / 20), memory.value() / 2));
}

Bytes default_gpu_reserve(const GpuSpec& gpu) {
  if (gpu.shares_host || gpu.one_memory) return Bytes(0);
  return Bytes(std::min<std::uint64_t>(300ull << 20, gpu.memory.value() / 2));
}

BytesPerSecond StorageSpec::total_read() const {
  const BytesPerSecond drives(static_cast<double>(count) * read.value());
  return array_read ? std::min(drives, *array_read) : drives;
}

BytesPerSecond StorageSpec::total_write() const {
  const BytesPerSecond drives(static_cast<double>(count) * write.value());
  return array_write ? std::min(drives, *array_write) : drives;
}

double StorageSpec::share_of(IoEngine engine) const {
  const auto share = process_efficiency.find(std::string(name_of(engine)));
  return share == process_efficiency.end() ? 1 : share->second;
}

std::vector<Bytes> StorageSpec::written_before() const {
  std::vector<Bytes> each = endurance ? endurance->written : std::vector<Bytes>{};
  each.resize(std::max<std::size_t>(each.size(), count));
  std::sort(each.begin(), each.end(), std::greater<>());
  each.erase(each.begin(), each.end() - static_cast<std::ptrdiff_t>(count));
  return each;
}

Bytes StorageSpec::room() const {
  const Bytes held = endurance ? endurance->held : Bytes{};
  return capacity - std::min(held, capacity);
}

Bytes StorageSpec::slc_cache_size() const {
  constexpr std::uint64_t bits_a_cell = 3;
  if (!slc_cache) return {};
  if (capacity.value() == 0) return slc_cache->size;
  return std::min(slc_cache->size, Bytes(room().value() / bits_a_cell));
}

BytesPerSecond StorageSpec::sustained_write(Bytes volume, Seconds idle) const {
  if (!slc_cache || volume.value() == 0) return write;
  const double bytes = static_cast<double>(volume.value());
  const double folded = std::min(slc_cache->folded_write.value(), write.value());
  const double fast =
      std::min({bytes, static_cast<double>(slc_cache_size().value()), folded * idle.value()});
  return BytesPerSecond(bytes / (fast / write.value() + (bytes - fast) / folded));
}

double MachineFile::best_mix() const {
  double best = 1;
  for (const StorageSpec& one : storage) best = std::max(best, one.mixed_efficiency);
  return best;
}

std::optional<double> MachineFile::price() const {
  if (!prices_usd) return std::nullopt;
  if (prices_usd->server == 0 && prices_usd->gpu == 0 && prices_usd->ssd == 0 &&
      prices_usd->dram_per_gib == 0)
    return std::nullopt;  // rented
  double drives = 0;      // of all nodes
  for (const StorageSpec& one : storage)
    if (one.kind == StorageKind::ssd)
      drives += static_cast<double>(one.count * one.sets(nodes)) *
                one.price_usd.value_or(prices_usd->ssd);
  const double gib = static_cast<double>(host.memory.value()) / static_cast<double>(1ull << 30);
  return drives + static_cast<double>(nodes) *
                      (prices_usd->server + static_cast<double>(gpu.count) * prices_usd->gpu +
                       gib * prices_usd->dram_per_gib);
}

}  // namespace spillway::description
