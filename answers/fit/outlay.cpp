#include "answers/fit/outlay.hpp"

#include <algorithm>

namespace spillway::answers {

using description::MachineFile;
using description::StorageSpec;

namespace {

bool is_same_part(const MachineFile& now, const MachineFile& then, const std::string& piece) {
  const auto own = now.bought.find(piece), other = then.bought.find(piece);
  if (own == now.bought.end() || other == then.bought.end())
    return own == now.bought.end() && other == then.bought.end();
  return own->second == other->second;
}

/// Of `then` pieces those that are not there yet.
double added(double now, double then) { return std::max(then - now, 0.0); }

double gib_of(const MachineFile& machine) {
  return static_cast<double>(machine.host.memory.value()) / static_cast<double>(1ull << 30);
}

/// All of one node but its drives.
double node_usd(const MachineFile& machine) {
  const description::Prices& usd = *machine.prices_usd;
  return usd.server + static_cast<double>(machine.gpu.count) * usd.gpu +
         gib_of(machine) * usd.dram_per_gib;
}

/// Of one node.
double memory_usd(const MachineFile& now, const MachineFile& then) {
  const double usd = then.prices_usd->dram_per_gib;
  const bool other_kind = !is_same_part(now, then, "host") && usd != now.prices_usd->dram_per_gib;
  return usd * added(other_kind ? 0 : gib_of(now), gib_of(then));
}

/// Of all nodes.
double drives_usd(const MachineFile& now, const MachineFile& then) {
  double usd = 0;
  for (const StorageSpec& one : then.storage) {
    if (one.kind != description::StorageKind::ssd) continue;
    std::uint64_t there = 0;
    if (is_same_part(now, then, "storage." + one.name))
      for (const StorageSpec& own : now.storage)
        if (own.name == one.name) there = own.count * own.sets(now.nodes);
    usd += one.price_usd.value_or(then.prices_usd->ssd) *
           added(static_cast<double>(there), static_cast<double>(one.count * one.sets(then.nodes)));
  }
  return usd;
}

}  // namespace

std::optional<double> outlay_usd(const MachineFile& now, const MachineFile& then) {
  if (!now.price() || !then.price()) return std::nullopt;
  const double cards = is_same_part(now, then, "gpu") ? static_cast<double>(now.gpu.count) : 0;
  double usd = then.prices_usd->gpu * added(cards, static_cast<double>(then.gpu.count));
  if (!is_same_part(now, then, "host")) usd += then.prices_usd->server;
  usd += memory_usd(now, then);
  const double kept = static_cast<double>(std::min(now.nodes, then.nodes));
  const double more = added(static_cast<double>(now.nodes), static_cast<double>(then.nodes));
  return kept * usd + more * node_usd(then) + drives_usd(now, then);
}

}  // namespace spillway::answers
