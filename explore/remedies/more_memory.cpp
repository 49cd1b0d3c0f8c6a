#include "explore/remedies/more_memory.hpp"

#include "explore/remedies/changes.hpp"
#include "reports/result/needs.hpp"
#include "scenarios/description/quantity.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <span>

namespace spillway::explore {

namespace {

using description::Scenario;

/// GiB of a host: pairs and fours of modules, as boards take them.
constexpr std::uint64_t host_sizes[] = {8,   16,  24,  32,   48,   64,   96,   128,  192,  256,
                                        384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192};
/// GiB of one card.
constexpr std::uint64_t gpu_sizes[] = {4,  6,  8,  10, 11,  12,  16,  20,  24,  32, 40,
                                       48, 64, 80, 96, 128, 141, 180, 192, 256, 288};

std::uint64_t at_least(std::span<const std::uint64_t> sizes, std::uint64_t bytes) {
  const auto found = std::find_if(sizes.begin(), sizes.end(),
                                  [&](std::uint64_t gib) { return gib << 30 >= bytes; });
  return found == sizes.end() ? 0 : *found << 30;
}

/// Words and overrides that are put together, one tier after the other.
struct Purchase {
  std::string words;
  std::vector<std::string> overrides;

  void add(const std::string& what, const std::string& path, const std::string& value) {
    words += (words.empty() ? "" : " and ") + what;
    overrides.push_back(path + "=" + value);
  }
  void add_memory(const char* what, const char* path, std::uint64_t bytes) {
    const std::string size = fmt::format("{} GiB", bytes >> 30);
    add(size + " of " + what, path, size);
  }
};

/// As many drives of each kind as hold the need; the first kind where several are one stripe.
void add_drives(const Scenario& scenario, const result::Infeasible& first, std::uint64_t needed,
                Purchase& purchase) {
  std::uint64_t has = 0;
  const description::StorageSpec* full = nullptr;
  for (const description::StorageSpec& storage : scenario.machine.storage) {
    if (storage.kind != description::StorageKind::ssd) continue;
    has += storage.total_room().value();
    if (!full || storage.name == first.storage) full = &storage;
  }
  if (!full || full->capacity.value() == 0) return;
  const std::uint64_t more =
      description::divide_up(needed - std::min(needed, has), full->room().value());
  const std::uint64_t count = full->count + std::max<std::uint64_t>(1, more);
  purchase.add(fmt::format("{} drives of {}", count, full->name),
               "machine.storage." + full->name + ".count", std::to_string(count));
}

std::optional<Purchase> purchase_for(const Scenario& scenario, const result::Result& result) {
  Purchase purchase;
  for (const result::TierNeed& need : result::shortages_of(result)) {
    if (need.tier == "ssd") {
      add_drives(scenario, *result.infeasible, need.needed, purchase);
      continue;
    }
    if (scenario.machine.gpu.one_memory) return std::nullopt;  // it is soldered
    const bool host = need.tier == "host";
    const std::uint64_t size = host ? sold_host_memory(need.needed) : sold_gpu_memory(need.needed);
    if (size == 0) return std::nullopt;
    purchase.add_memory(host ? "host memory" : "GPU memory",
                        host ? "machine.host.memory" : "machine.gpu.memory", size);
  }
  if (purchase.overrides.empty()) return std::nullopt;
  return purchase;
}

bool lacks(const result::Result& result, const std::string& tier) {
  const auto shortages = result::shortages_of(result);
  return std::any_of(shortages.begin(), shortages.end(),
                     [&](const result::TierNeed& need) { return need.tier == tier; });
}

}  // namespace

std::uint64_t sold_host_memory(std::uint64_t bytes) { return at_least(host_sizes, bytes); }
std::uint64_t sold_gpu_memory(std::uint64_t bytes) { return at_least(gpu_sizes, bytes); }

std::optional<Remedy> more_memory(const Backend& backend, const Scenario& scenario,
                                  const result::Result& result, const Resolve& resolve) {
  constexpr int most_tries = 3;
  // what the first purchase still lacks is said by its own run, whose tiers grow as well
  std::optional<Purchase> purchase = purchase_for(scenario, result);
  std::vector<std::string> overrides;
  std::string words;
  for (int tries = 0; purchase && tries < most_tries; ++tries) {
    overrides.insert(overrides.end(), purchase->overrides.begin(), purchase->overrides.end());
    words += (words.empty() ? "" : ", then ") + purchase->words;
    const auto larger = resolve(overrides);
    if (!larger) return std::nullopt;
    const std::vector<Outcome> outcome =
        simulate_all(backend, std::span(&*larger, 1), 1, default_limit_s, {WhenFull::find_need});
    const auto& found = outcome.front().result;
    if (!found) return std::nullopt;
    if (found->feasible()) {
      Remedy remedy{words, overrides, *found};
      // what a card with more memory costs is not known, and not what this one does
      if (larger->machine.gpu.memory != scenario.machine.gpu.memory)
        remedy.result.price_usd.reset();
      return remedy;
    }
    purchase = purchase_for(*larger, *found);
  }
  return std::nullopt;
}

std::optional<Remedy> more_memory_beside_its_cards(const Backend& backend, const Scenario& scenario,
                                                   const Resolve& resolve) {
  std::vector<Change> changes;
  std::vector<Scenario> scenarios;
  for (Change& change : settings_of(scenario).all())
    if (auto changed = resolve(change.overrides)) {
      changes.push_back(std::move(change));
      scenarios.push_back(std::move(*changed));
    }
  const std::vector<Outcome> needs =
      simulate_all(backend, scenarios, 0, default_limit_s, {WhenFull::find_need});
  std::vector<Change> bought;
  std::vector<Scenario> with_them;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const auto& result = needs[i].result;
    if (!result || result->feasible() || lacks(*result, "gpu")) continue;
    const std::optional<Purchase> purchase = purchase_for(scenarios[i], *result);
    if (!purchase) continue;
    Change change = std::move(changes[i]);
    change.words += " and " + purchase->words;
    change.overrides.insert(change.overrides.end(), purchase->overrides.begin(),
                            purchase->overrides.end());
    auto larger = resolve(change.overrides);
    if (!larger) continue;  // the board does not take it
    bought.push_back(std::move(change));
    with_them.push_back(std::move(*larger));
  }
  const std::vector<Outcome> outcomes = simulate_all(backend, with_them);
  std::optional<Remedy> fastest;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto& result = outcomes[i].result;
    if (result && result->feasible() &&
        (!fastest || result->tokens_per_s > fastest->result.tokens_per_s))
      fastest = Remedy{bought[i].words, bought[i].overrides, *result};
  }
  return fastest;
}

}  // namespace spillway::explore
