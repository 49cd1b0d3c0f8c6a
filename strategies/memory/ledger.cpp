#include "strategies/memory/ledger.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace spillway::strategies {

std::uint32_t Ledger::add_tier(std::string name, std::uint64_t capacity) {
  Tier& tier = tiers_.emplace_back();
  tier.name = std::move(name);
  tier.capacity = capacity;
  return static_cast<std::uint32_t>(tiers_.size() - 1);
}

std::uint32_t Ledger::add(const Entry& entry, double now_s) {
  std::uint32_t id = 0;
  if (free_ids_.empty()) {
    id = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
    live_position_.emplace_back();
  } else {
    id = free_ids_.back();
    free_ids_.pop_back();
  }
  entries_[id] = entry;
  entries_[id].born_s = now_s;
  Tier& tier = tiers_[entry.tier];
  live_position_[id] = static_cast<std::uint32_t>(tier.live.size());
  tier.live.push_back(id);
  tier.used += entry.charged;
  if (tier.used > tier.peak.charged) {
    tier.peak.charged = tier.used;
    tier.peak.phase = entry.phase;
    tier.peak.at_s = now_s;
    tier.peak_is_now = true;
  }
  if (on_change) on_change(entry.tier, now_s, tier.used);
  return id;
}

void Ledger::remove(std::uint32_t id, double now_s) {
  const std::uint32_t tier_index = entries_[id].tier;
  Tier& tier = tiers_[tier_index];
  if (tier.peak_is_now) settle_peak(tier_index);
  const std::uint32_t position = live_position_[id];
  tier.live[position] = tier.live.back();
  live_position_[tier.live[position]] = position;
  tier.live.pop_back();
  tier.used -= entries_[id].charged;
  free_ids_.push_back(id);
  if (on_change) on_change(tier_index, now_s, tier.used);
}

void Ledger::recharge(std::uint32_t id, const Entry& entry, double now_s) {
  ENSURE(entry.tier == entries_[id].tier && entry.charged == entries_[id].charged,
         "a block changed its size or tier while it was kept");
  if (tiers_[entry.tier].peak_is_now) settle_peak(entry.tier);
  entries_[id] = entry;
  entries_[id].born_s = now_s;
}

void Ledger::keep(std::uint32_t id) {
  const std::uint32_t tier = entries_[id].tier;
  if (tiers_[tier].peak_is_now) settle_peak(tier);
  entries_[id].kept = true;
}

std::uint64_t Ledger::kept(std::uint32_t tier) const {
  std::uint64_t bytes = 0;
  for (const std::uint32_t id : tiers_[tier].live)
    if (entries_[id].kept) bytes += entries_[id].charged;
  return bytes;
}

void Ledger::settle_peak(std::uint32_t tier_index) {
  Tier& tier = tiers_[tier_index];
  tier.peak_is_now = false;
  using Key =
      std::tuple<std::uint32_t, Purpose, std::uint64_t, std::uint64_t, bool, result::Phase, bool>;
  std::map<Key, std::uint64_t> counts;
  for (const std::uint32_t id : tier.live) {
    const Entry& entry = entries_[id];
    ++counts[{entry.rank.index, entry.purpose, entry.asked, entry.charged, entry.pinned,
              entry.phase, entry.kept}];
  }
  tier.peak.entries.clear();
  for (const auto& [key, count] : counts) {
    const auto& [rank, purpose, asked, charged, pinned, phase, kept] = key;
    tier.peak.entries.push_back({rank, std::string(result::to_string(purpose)), count, asked,
                                 charged, pinned, std::string(result::to_string(phase)), kept, ""});
  }
  std::stable_sort(tier.peak.entries.begin(), tier.peak.entries.end(),
                   [](const result::PeakEntry& a, const result::PeakEntry& b) {
                     return a.count * a.charged_bytes > b.count * b.charged_bytes;
                   });
}

Peak Ledger::peak(std::uint32_t tier) {
  if (tiers_[tier].peak_is_now) {
    settle_peak(tier);
    tiers_[tier].peak_is_now = true;
  }
  return tiers_[tier].peak;
}

}  // namespace spillway::strategies
