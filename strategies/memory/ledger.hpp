#pragma once

#include "reports/result/result.hpp"
#include "strategies/memory/block.hpp"

#include <algorithm>
#include <compare>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace spillway::strategies {

/// What a tier's fullest instant looked like.
struct Peak {
  std::uint64_t charged = 0;
  result::Phase phase = result::Phase::init;
  double at_s = 0;
  std::vector<result::PeakEntry> entries;  ///< equal buffers counted, largest first
};

/// Every byte of every tier is an entry here: rank, purpose, asked and charged bytes, pinned or
/// not, phase.
///   Invariant  a tier's use is the sum of its live entries' charged bytes; its peak is the largest
///              such sum, with the entries that were alive then
class Ledger {
 public:
  /// Tiers are numbered by the caller; `name` and `capacity` (0: unlimited) go into results.
  std::uint32_t add_tier(std::string name, std::uint64_t capacity);

  struct Entry {
    std::uint32_t tier = 0;
    Rank rank;
    Purpose purpose = Purpose::workspace;
    std::uint64_t asked = 0;
    std::uint64_t charged = 0;
    bool pinned = false;
    result::Phase phase = result::Phase::init;  ///< in which it was born
    double born_s = 0;
    bool kept = false;  ///< in no use: a caching allocator holds it
  };

  /// Result  id of the entry, for `remove` and `recharge`
  std::uint32_t add(const Entry& entry, double now_s);
  void remove(std::uint32_t id, double now_s);
  /// Its last user is gone, and a caching allocator keeps the block: still charged to its purpose.
  void keep(std::uint32_t id);
  /// A caching allocator hands a block it kept to another buffer: same charge, new purpose.
  void recharge(std::uint32_t id, const Entry& entry, double now_s);

  /// Charged bytes that caching allocators keep, of `used`.
  std::uint64_t kept(std::uint32_t tier) const { return tiers_[tier].kept; }
  std::uint64_t used(std::uint32_t tier) const { return tiers_[tier].used; }
  std::uint64_t peak_bytes(std::uint32_t tier) const { return tiers_[tier].peak.charged; }
  std::uint64_t capacity(std::uint32_t tier) const { return tiers_[tier].capacity; }
  /// The peak was there for some time, or still is: not only while one thing took the place of
  /// another at one instant, which ranks do one after the other.
  bool peak_lasts(std::uint32_t tier) const {
    return std::max(tiers_[tier].lasting, tiers_[tier].used) == tiers_[tier].peak.charged;
  }
  const std::string& name(std::uint32_t tier) const { return tiers_[tier].name; }
  std::size_t tiers() const { return tiers_.size(); }

  /// The peak so far, its entries merged by rank, purpose, size and phase.
  Peak peak(std::uint32_t tier);

  /// Called with (tier, now, used) after every change, for traces.
  std::function<void(std::uint32_t, double, std::uint64_t)> on_change;
  /// Called with (id, entry) when an entry begins, its time in it, and with (id, now) when it ends;
  /// for traces. Both are set, or neither.
  std::function<void(std::uint32_t, const Entry&)> on_birth;
  std::function<void(std::uint32_t, double)> on_end;

 private:
  /// What equal entries of a tier have in common.
  struct Kind {
    std::uint32_t rank = 0;
    Purpose purpose = Purpose::workspace;
    std::uint64_t asked = 0, charged = 0;
    bool pinned = false;
    result::Phase phase = result::Phase::init;
    bool kept = false;
    auto operator<=>(const Kind&) const = default;
  };
  struct Tier {
    std::string name;
    std::uint64_t capacity = 0;
    std::uint64_t used = 0;
    std::uint64_t kept = 0;
    std::uint64_t lasting = 0;  ///< the most that was used for some time
    double since_s = 0;         ///< as much is used as now
    Peak peak;
    /// The peak's entries are the live ones; taken down before the first release.
    bool peak_is_now = false;
    std::map<Kind, std::uint64_t> live;  ///< how many of each
    std::vector<std::pair<Kind, std::uint64_t>> at_peak;
  };
  static Kind kind_of(const Entry& entry);
  void count(const Entry& entry);
  void forget(const Entry& entry);
  static void note_time(Tier& tier, double now_s);
  void settle_peak(Tier& tier);

  std::vector<Tier> tiers_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_ids_;
};

}  // namespace spillway::strategies
