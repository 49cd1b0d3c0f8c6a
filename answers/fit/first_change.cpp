#include "answers/fit/first_change.hpp"

#include "explore/remedies/free_settings.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/document/part_catalogue.hpp"
#include "strategies/layout/prepared.hpp"

#include <fmt/format.h>

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

std::vector<FirstChange> fused_changes_of(const Scenario& now,
                                          const std::vector<std::string>& overrides) {
  std::vector<FirstChange> all;
  for (const explore::FreeSettings& fused : explore::fused_of(now, overrides))
    all.push_back({fused.words + ", such as " + fused.such_as, fused.overrides, fused.words});
  return all;
}

std::vector<std::vector<FirstChange>> free_changes(const Scenario& now,
                                                   const std::vector<std::string>& overrides) {
  std::vector<FirstChange> others = for_long_samples(now, overrides);
  std::vector<FirstChange> alone = fused_changes_of(now, overrides), beside_fused;
  for (const FirstChange& other : others)
    for (const FirstChange& fused : alone) beside_fused.push_back(both(fused, other));
  alone.insert(alone.end(), others.begin(), others.end());
  if (beside_fused.empty()) return {alone};
  return {alone, beside_fused};
}

std::vector<std::vector<FirstChange>> plain_base_changes(
    Scenario now, const std::vector<std::string>& overrides) {
  if (!description::has_adapters(now.training.method) ||
      now.training.lora.base == description::BaseType::bf16 ||
      name_path(overrides, "training.lora.base"))
    return {};
  const FirstChange plain{"training.method lora, whose base stays in 16 bits",
                          {"training.method=lora"},
                          "training.method lora"};
  now.training.lora.base = description::BaseType::bf16;
  std::vector<FirstChange> beside_fused;
  for (const FirstChange& fused : fused_changes_of(now, overrides))
    beside_fused.push_back(both(plain, fused));
  if (beside_fused.empty()) return {{plain}};
  return {{plain}, beside_fused};
}

std::optional<FirstChange> first_drive(const Scenario& now) {
  if (!now.machine.storage.empty()) return std::nullopt;
  const auto& slots = now.machine.host.slots;
  for (const auto& drive : scenarios::part_catalogue().drives) {
    const auto slot = slots.find(drive.form);
    if (!slots.empty() && (slot == slots.end() || slot->second == 0)) continue;
    return FirstChange{
        "a " + drive.name,
        {fmt::format(R"(machine.storage=[{{"part": "{}", "count": 1}}])", drive.name)},
        "a " + drive.name};
  }
  return std::nullopt;
}

}  // namespace spillway::answers
