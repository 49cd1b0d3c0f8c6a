#include "strategies/run/endurance.hpp"

#include "scenarios/description/quantity.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::strategies {

namespace {

constexpr double day_s = 86400;
constexpr double year_s = 365 * day_s;
constexpr double relaxation_of_one_day = 86;

double bytes_of(const WriteSizes& writes) {
  double bytes = 0;
  for (const WriteSize& size : writes.all())
    bytes += static_cast<double>(size.bytes) * static_cast<double>(size.count);
  return bytes;
}

/// The share of its life that the most worn drive has left: writes are spread evenly, so that it is
/// the first to end.
double unworn(const description::StorageSpec& storage, double most_worn) {
  if (!storage.endurance || storage.endurance->rated.value() == 0) return 1;
  return std::max(0.0, 1 - most_worn / static_cast<double>(storage.endurance->rated.value()));
}

result::Wear wear_of_one(const description::StorageSpec& storage, double written, double waf,
                         double step_s) {
  result::Wear wear;
  wear.storage = storage.name;
  wear.drives = storage.count;
  wear.write_bytes_per_step = written;
  wear.waf = waf;
  if (step_s > 0) wear.write_bytes_per_day = written * day_s / step_s;
  const double drives = static_cast<double>(storage.count);
  const double capacity = static_cast<double>(storage.capacity.value());
  wear.write_bytes_per_day_per_drive = wear.write_bytes_per_day / drives;
  if (capacity > 0) wear.drive_writes_per_day = wear.write_bytes_per_day_per_drive / capacity;
  if (storage.endurance) {
    const description::EnduranceSpec& endurance = *storage.endurance;
    wear.rated_write_bytes = static_cast<double>(endurance.rated.value()) * drives;
    if (endurance.warranty) wear.warranty_limit_years = endurance.warranty->value() / year_s;
    if (endurance.warranty && endurance.warranty->value() > 0 && capacity > 0)
      wear.rated_drive_writes_per_day = static_cast<double>(endurance.rated.value()) / capacity /
                                        (endurance.warranty->value() / day_s);
  }
  for (const description::Bytes before : storage.written_before()) {
    const auto bytes = static_cast<double>(before.value());
    wear.written_before_bytes += bytes;
    wear.most_worn_bytes = std::max(wear.most_worn_bytes, bytes);
  }
  const double left = unworn(storage, wear.most_worn_bytes);
  if (const auto life = lifetime_writes(storage, waf)) wear.lifetime_write_bytes = *life * left;
  if (wear.lifetime_write_bytes && wear.write_bytes_per_day > 0) {
    wear.lifetime_years = *wear.lifetime_write_bytes / (wear.write_bytes_per_day * 365);
    wear.warranty_years = wear.rated_write_bytes * left / (wear.write_bytes_per_day * 365);
  }
  return wear;
}

double storage_spare(const description::StorageSpec& storage) {
  return storage.endurance ? storage.endurance->over_provisioning : 0;
}

/// Why a drive without `slc_cache` may write slower than its rate once such a cache is full: drives
/// sold to people write fast into a part of their flash only, drives of data centres do not, and
/// the rating tells them apart. "": it may not.
std::string why_it_may_slow_down(const description::StorageSpec& storage) {
  constexpr double least_of_data_centres = 0.5, warranty_days = 5 * 365;  // drive writes a day
  if (storage.kind != description::StorageKind::ssd || storage.slc_cache) return "";
  if (!storage.endurance || storage.capacity.value() == 0)
    return "it has neither slc_cache nor endurance, which would tell a consumer drive";
  const double writes = static_cast<double>(storage.endurance->rated.value()) /
                        static_cast<double>(storage.capacity.value());
  if (writes / warranty_days >= least_of_data_centres) return "";
  return "it is rated as a consumer drive and has no slc_cache";
}

/// What one set of a storage's drives takes and holds.
struct SetWrites {
  WriteSizes sizes;
  double live = 0;
  std::optional<std::uint64_t> node{};  ///< whose set it is, of several that differ
};

/// Of each set of machine.storage[entry] that takes other bytes: nodes that differ have one each,
/// unless they share it.
std::vector<SetWrites> writes_by_set(const description::MachineFile& machine, std::size_t entry,
                                     const StepWrites& step) {
  const std::size_t entries = machine.storage.size();
  std::vector<SetWrites> sets;
  for (std::size_t at = entry; at < std::max(entries, step.by_storage.size()); at += entries) {
    const bool joins = machine.storage[entry].shared_by_nodes && !sets.empty();
    SetWrites& set = joins ? sets.front() : sets.emplace_back();
    for (const WriteSize& size : step.by_storage.at(at).all())
      set.sizes.add(size.bytes, size.count);
    if (at < step.live_bytes.size()) set.live += step.live_bytes[at];
    if (step.by_storage.size() > entries && !machine.storage[entry].shared_by_nodes)
      set.node = at / entries;
  }
  return sets;
}

/// One whose rating nobody knows comes before others whose drives take less than its.
bool sooner(const result::Wear& one, const result::Wear& other) {
  if (one.lifetime_years && other.lifetime_years)
    return *one.lifetime_years < *other.lifetime_years;
  const double takes = one.write_bytes_per_day_per_drive;
  const double others = other.write_bytes_per_day_per_drive;
  const bool as_much = takes > 0 && takes == others;
  return takes > others || (as_much && !one.lifetime_years && other.lifetime_years);
}

}  // namespace

double retention_relaxation(description::Seconds retention, description::Seconds rated) {
  if (retention.value() <= 0 || rated.value() <= 0) return 1;
  return std::pow(relaxation_of_one_day,
                  std::log(rated / retention) / std::log(3 * year_s / day_s));
}

std::optional<double> lifetime_writes(const description::StorageSpec& storage, double waf) {
  if (!storage.endurance) return std::nullopt;
  const description::EnduranceSpec& endurance = *storage.endurance;
  return static_cast<double>(endurance.rated.value()) * static_cast<double>(storage.count) *
         endurance.rating_waf / waf *
         retention_relaxation(endurance.retention, endurance.rated_retention);
}

std::optional<result::Wear> wear_of(const description::MachineFile& machine,
                                    const StepWrites& step) {
  std::optional<result::Wear> worst;
  double worn_usd = 0;  // by one step
  bool priced = machine.prices_usd && step.tokens > 0;
  for (std::size_t i = 0; i < machine.storage.size(); ++i) {
    const description::StorageSpec& storage = machine.storage[i];
    if (storage.kind != description::StorageKind::ssd) continue;
    const double users = static_cast<double>(storage.sharers(step.nodes));
    const auto source = machine.sources.find("storage." + storage.name + ".endurance.rated");
    const double price =
        machine.prices_usd ? storage.price_usd.value_or(machine.prices_usd->ssd) : 0;
    for (const SetWrites& set : writes_by_set(machine, i, step)) {
      const double live = users * set.live;
      const double waf = workload_waf(storage, set.sizes, live);
      const double written = users * bytes_of(set.sizes) / step.steps;
      result::Wear wear = wear_of_one(storage, written, waf, step.seconds);
      wear.rated_by_use = source != machine.sources.end() && source->second.starts_with("measured");
      wear.filled = live_share(storage, live) * (1 + storage_spare(storage));
      wear.node = set.node;
      if (!worst || sooner(wear, *worst)) worst = wear;
      if (written == 0) continue;
      const std::optional<double> total = lifetime_writes(storage, waf);
      if (total && *total > 0 && price > 0)
        worn_usd += price * static_cast<double>(storage.count * storage.sets(step.nodes)) *
                    written / *total;
      else
        priced = false;
    }
  }
  if (worst && priced && worn_usd > 0) worst->usd_per_million_tokens = worn_usd / step.tokens * 1e6;
  return worst;
}

double lasting_write(const description::StorageSpec& storage) {
  const double write = storage.total_write().value();
  if (!storage.slc_cache) return write;
  return std::min(write,
                  static_cast<double>(storage.count) * storage.slc_cache->folded_write.value());
}

void note_caches(const description::MachineFile& machine, result::Result& result) {
  for (const description::StorageSpec& storage : machine.storage) {
    const auto moved = result.io.by_storage.find(storage.name);
    if (moved == result.io.by_storage.end() || moved->second.write == 0) continue;
    if (storage.endurance && storage.endurance->held.value() > 0)
      result.notes.push_back(text::filled(
          "{} of each drive of {} are others' (endurance.held): a run has the other {}",
          {text::bytes(static_cast<double>(storage.endurance->held.value())), storage.name,
           text::bytes(static_cast<double>(storage.room().value()))}));
    if (const std::string why = why_it_may_slow_down(storage); !why.empty())
      result.notes.push_back(
          text::filled("{} is taken to sustain its rate of {} for writes: {}; give it slc_cache, "
                       "with size and folded_write, or name its \"part\"",
                       {storage.name, text::rate(storage.write.value()), why}));
    if (!storage.slc_cache) continue;
    const auto drives = static_cast<double>(storage.count);
    const double rated = storage.total_write().value();
    result.slc_caches[storage.name] = {
        drives * static_cast<double>(storage.slc_cache_size().value()), lasting_write(storage),
        rated, static_cast<double>(moved->second.write)};
  }
}

}  // namespace spillway::strategies
