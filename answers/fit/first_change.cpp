#include "answers/fit/first_change.hpp"

#include "explore/fused.hpp"
#include "explore/outcomes.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/part_catalogue.hpp"
#include "strategies/layout/prepared.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace spillway::answers {

using description::Scenario;
using explore::name_path;

namespace {

FirstChange both(const FirstChange& one, const FirstChange& other) {
  FirstChange all{one.words + " and " + other.words, one.set, one.setting + ", " + other.setting};
  all.set.insert(all.set.end(), other.set.begin(), other.set.end());
  return all;
}

/// Of all GPUs, or of half of them and so on: the most that can share the model's heads.
std::uint64_t most_context_ranks(Scenario now) {
  const std::uint64_t gpus = now.machine.gpus();
  for (std::uint64_t ranks = now.machine.gpu.count; ranks > 1; ranks /= 2) {
    if (now.machine.gpu.count % ranks != 0) break;
    now.parallel.context = ranks;
    now.parallel.data = gpus / ranks;
    try {
      strategies::prepare(now);
      return ranks;
    } catch (const description::ScenarioError&) {
      continue;  // the heads of the model, or its samples, are too few
    }
  }
  return 1;
}

std::vector<FirstChange> for_long_samples(const Scenario& now,
                                          const std::vector<std::string>& overrides) {
  std::vector<FirstChange> all;
  if (!name_path(overrides, "strategy.activations.policy"))
    all.push_back({"strategy.activations.policy checkpoint_host, such as Unsloth's or torchtune's",
                   {"strategy.activations.policy=checkpoint_host"},
                   "checkpoint_host"});
  if (name_path(overrides, "parallel.context") || name_path(overrides, "parallel.data")) return all;
  const std::uint64_t ranks = most_context_ranks(now);
  if (ranks == 1) return all;
  std::string setting = fmt::format("parallel.context {}", ranks);
  all.push_back({setting + ", such as Ulysses' or Megatron-LM's",
                 {fmt::format("parallel.context={}", ranks),
                  fmt::format("parallel.data={}", now.machine.gpus() / ranks)},
                 setting});
  return all;
}

}  // namespace

std::optional<FirstChange> fused_change_of(const Scenario& now,
                                           const std::vector<std::string>& overrides) {
  const auto fused = explore::fused_of(now, overrides);
  if (!fused) return std::nullopt;
  return FirstChange{fused->words + ", such as " + fused->such_as, fused->overrides, fused->words};
}

std::optional<FirstChange> idle_host_change_of(const result::Result& now,
                                               const std::vector<std::string>& overrides) {
  const Scenario scenario = explore::scenario_of(now);
  const char* const path = "strategy.weights.max_in_host";
  if (scenario.strategy.weights.home != description::Home::ssd || name_path(overrides, path))
    return std::nullopt;
  // a twentieth stays free: buffers of other sizes may come with it
  const double usable = 0.95 * static_cast<double>(scenario.machine.host.usable().value());
  const double idle = usable - static_cast<double>(now.host.total);
  constexpr double bytes_each = 2;
  const auto held = static_cast<double>(scenario.strategy.weights.max_in_host.value());
  double most = bytes_each * held + idle / static_cast<double>(scenario.node_ranks());
  if (most < 1) return std::nullopt;
  // they are one pinned buffer
  if (scenario.strategy.pinned == description::PinnedPolicy::power_of_two)
    most = std::exp2(std::floor(std::log2(most)));
  const double billions = std::floor(most / bytes_each / 1e9);
  if (billions * 1e9 <= held) return std::nullopt;
  const std::string params = fmt::format("{:.0f}e9 params", billions);
  return FirstChange{fmt::format("{} \"{}\", DeepSpeed's max_in_cpu", path, params),
                     {fmt::format("{}={}", path, params)},
                     path};
}

std::vector<std::vector<FirstChange>> free_changes(const Scenario& now,
                                                   const std::vector<std::string>& overrides) {
  const std::vector<FirstChange> others = for_long_samples(now, overrides);
  const auto fused = fused_change_of(now, overrides);
  if (!fused) return {others};
  std::vector<FirstChange> alone{*fused}, beside_fused;
  for (const FirstChange& other : others) {
    alone.push_back(other);
    beside_fused.push_back(both(*fused, other));
  }
  return {alone, beside_fused};
}

std::optional<FirstChange> first_drive(const Scenario& now) {
  if (!now.machine.storage.empty()) return std::nullopt;
  const std::string& drive = scenarios::part_catalogue().drives.front().name;
  return FirstChange{"a " + drive,
                     {fmt::format(R"(machine.storage=[{{"part": "{}", "count": 1}}])", drive)},
                     "a " + drive};
}

}  // namespace spillway::answers
