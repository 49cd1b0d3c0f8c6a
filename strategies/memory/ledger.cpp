#include "strategies/memory/ledger.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>

namespace spillway::strategies {

std::uint32_t Ledger::add_tier(std::string name, std::uint64_t capacity) {
  Tier& tier = tiers_.emplace_back();
  tier.name = std::move(name);
  tier.capacity = capacity;
  return static_cast<std::uint32_t>(tiers_.size() - 1);
}

Ledger::Kind Ledger::kind_of(const Entry& entry) {
  return {entry.rank.index, entry.purpose, entry.asked, entry.charged,
          entry.pinned,     entry.phase,   entry.kept};
}

void Ledger::count(const Entry& entry) {
  Tier& tier = tiers_[entry.tier];
  ++tier.live[kind_of(entry)];
  if (entry.kept) tier.kept += entry.charged;
}

/// The entry is about to go or to change.
void Ledger::forget(const Entry& entry) {
  Tier& tier = tiers_[entry.tier];
  if (tier.peak_is_now) settle_peak(tier);
  const auto kind = tier.live.find(kind_of(entry));
  ENSURE(kind != tier.live.end(), "the ledger forgets what it does not have");
  if (--kind->second == 0) tier.live.erase(kind);
  if (entry.kept) tier.kept -= entry.charged;
}

std::uint32_t Ledger::add(const Entry& entry, double now_s) {
  std::uint32_t id = 0;
  if (free_ids_.empty()) {
    id = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    id = free_ids_.back();
    free_ids_.pop_back();
  }
  entries_[id] = entry;
  entries_[id].born_s = now_s;
  count(entry);
  Tier& tier = tiers_[entry.tier];
  note_time(tier, now_s);
  tier.used += entry.charged;
  if (tier.used > tier.peak.charged) {
    tier.peak.charged = tier.used;
    tier.peak.phase = entry.phase;
    tier.peak.at_s = now_s;
    tier.peak_is_now = true;
  }
  if (on_birth) on_birth(id, entries_[id]);
  if (on_change) on_change(entry.tier, now_s, tier.used);
  return id;
}

void Ledger::remove(std::uint32_t id, double now_s) {
  const Entry& entry = entries_[id];
  forget(entry);
  Tier& tier = tiers_[entry.tier];
  note_time(tier, now_s);
  tier.used -= entry.charged;
  free_ids_.push_back(id);
  if (on_end) on_end(id, now_s);
  if (on_change) on_change(entry.tier, now_s, tier.used);
}

void Ledger::recharge(std::uint32_t id, const Entry& entry, double now_s) {
  ENSURE(entry.tier == entries_[id].tier && entry.charged == entries_[id].charged,
         "a block changed its size or tier while it was kept");
  forget(entries_[id]);
  entries_[id] = entry;
  entries_[id].born_s = now_s;
  count(entry);
  if (on_end) on_end(id, now_s);
  if (on_birth) on_birth(id, entries_[id]);
}

void Ledger::keep(std::uint32_t id) {
  forget(entries_[id]);
  entries_[id].kept = true;
  count(entries_[id]);
}

/// What is used is about to change.
void Ledger::note_time(Tier& tier, double now_s) {
  if (now_s > tier.since_s) tier.lasting = std::max(tier.lasting, tier.used);
  tier.since_s = now_s;
}

void Ledger::settle_peak(Tier& tier) {
  tier.peak_is_now = false;
  tier.at_peak.assign(tier.live.begin(), tier.live.end());
}

Peak Ledger::peak(std::uint32_t tier_index) {
  Tier& tier = tiers_[tier_index];
  if (tier.peak_is_now) {
    settle_peak(tier);
    tier.peak_is_now = true;
  }
  Peak peak = tier.peak;
  for (const auto& [kind, number] : tier.at_peak)
    peak.entries.push_back({kind.rank, std::string(result::to_string(kind.purpose)), number,
                            kind.asked, kind.charged, kind.pinned,
                            std::string(result::to_string(kind.phase)), kind.kept, ""});
  std::stable_sort(peak.entries.begin(), peak.entries.end(),
                   [](const result::PeakEntry& a, const result::PeakEntry& b) {
                     return a.count * a.charged_bytes > b.count * b.charged_bytes;
                   });
  return peak;
}

}  // namespace spillway::strategies
