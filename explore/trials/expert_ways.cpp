#include "explore/trials/expert_ways.hpp"

#include "explore/outcome/started_today.hpp"
#include "models/architecture/architecture.hpp"
#include "reports/result/way.hpp"
#include "scenarios/description/quantity.hpp"
#include "strategies/machine/setup.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace spillway::explore {

using description::Scenario;
using nlohmann::json;

namespace {

/// Of the memory of a card, for experts that do not leave it.
constexpr std::uint64_t cached_share = 2;

/// With blocks that keep what backward needs, and with blocks that compute it again.
void add_of_the_cpu(const strategies::System& system, std::vector<Way>& ways) {
  const std::string name = system.name;
  for (const auto& [own, policy] :
       {std::pair{name + result::with_experts_on_cpu, "keep"},
        std::pair{name + result::with_recomputation + result::and_experts_on_cpu, "recompute"}})
    ways.push_back({own,
                    {started_today(system, {{"weights", {{"experts", "cpu"}}},
                                            {"activations", {{"policy", policy}}}})},
                    false,
                    true});
}

/// Those that come for each layer: all of them, or all but those in a cache.
void add_fetched(const strategies::System& system, const Scenario& job, bool from_drives,
                 std::vector<Way>& ways) {
  json weights = {{"home", from_drives ? "ssd" : "host"}, {"experts", "alone"}};
  weights["pool"] = from_drives ? "adaptive" : "none";
  const json parts = {{"weights", weights},
                      {"gradients", {{"policy", "host_fp32"}}},
                      {"optimizer", {{"home", "host"}}},
                      {"activations", {{"policy", "checkpoint_gpu"}}}};
  const std::string name =
      system.name + std::string(" with experts ") + (from_drives ? "on drives" : "in host memory");
  ways.push_back({name, {started_today(system, parts)}, false, false});
  constexpr std::uint64_t gib = 1ull << 30;
  const std::uint64_t cache = job.machine.gpu.memory.value() / cached_share / gib * gib;
  if (cache == 0) return;
  json cached = parts;
  cached["weights"]["expert_cache"] = description::to_text(description::Bytes(cache));
  ways.push_back({name + " and a cache of " + description::to_text(description::Bytes(cache)),
                  {started_today(system, cached)},
                  false,
                  false});
}

}  // namespace

std::vector<Way> expert_ways(const Scenario& job, const std::vector<std::string>& systems) {
  std::vector<Way> ways;
  if (models::architecture_of(job).experts == 0) return ways;
  const auto asked = [&](const char* name) -> const strategies::System* {
    const bool is_asked =
        systems.empty() || std::find(systems.begin(), systems.end(), name) != systems.end();
    return is_asked ? strategies::find_system(name) : nullptr;
  };
  if (const auto* system = asked("resident"); system &&
                                              description::has_adapters(job.training.method) &&
                                              strategies::cpu_compute_rate(job) > 0)
    add_of_the_cpu(*system, ways);
  if (const auto* system = asked("zero_infinity")) {
    add_fetched(*system, job, false, ways);
    const auto is_drive = [](const description::StorageSpec& storage) {
      return storage.kind == description::StorageKind::ssd;
    };
    if (std::any_of(job.machine.storage.begin(), job.machine.storage.end(), is_drive))
      add_fetched(*system, job, true, ways);
  }
  return ways;
}

std::vector<CardSplit> splits_of_experts(const std::vector<CardSplit>& splits, std::uint64_t own,
                                         std::uint64_t experts) {
  std::vector<CardSplit> all;
  for (CardSplit split : splits) {
    // data-parallel ranks of a node, which a group of experts fills or divides
    const std::uint64_t local = std::min(split.data, own / std::min(own, split.tensor));
    split.expert = std::gcd(local, experts);
    if (experts > 0 && split.expert > 1) all.push_back(split);
  }
  return all;
}

}  // namespace spillway::explore
