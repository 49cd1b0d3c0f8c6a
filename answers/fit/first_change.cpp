#include "answers/fit/first_change.hpp"

#include "scenarios/part_catalogue.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::answers {

using description::Scenario;

namespace {

FirstChange both(const FirstChange& one, const FirstChange& other) {
  FirstChange all{one.words + " and " + other.words, one.set, one.setting + ", " + other.setting};
  all.set.insert(all.set.end(), other.set.begin(), other.set.end());
  return all;
}

bool name(const std::vector<std::string>& overrides, const std::string& path) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const std::string& one) { return one.starts_with(path + "="); });
}

std::vector<FirstChange> for_long_samples(const Scenario& now,
                                          const std::vector<std::string>& overrides) {
  std::vector<FirstChange> all;
  if (!name(overrides, "strategy.activations.policy"))
    all.push_back({"strategy.activations.policy checkpoint_host, such as Unsloth's or torchtune's",
                   {"strategy.activations.policy=checkpoint_host"},
                   "checkpoint_host"});
  const std::uint64_t gpus = now.machine.gpu.count;
  if (gpus > 1 && !name(overrides, "parallel.context") && !name(overrides, "parallel.data")) {
    std::string setting = fmt::format("parallel.context {}", gpus);
    all.push_back({setting + ", such as Ulysses' or Megatron-LM's",
                   {fmt::format("parallel.context={}", gpus),
                    fmt::format("parallel.data={}", now.machine.nodes)},
                   setting});
  }
  return all;
}

}  // namespace

std::optional<FirstChange> fused_loss_of(const Scenario& now) {
  if (now.training.loss != description::LossKind::plain) return std::nullopt;
  return FirstChange{"training.loss fused, such as Liger Kernel's or cut cross-entropy",
                     {"training.loss=fused"},
                     "training.loss fused"};
}

std::vector<std::vector<FirstChange>> free_changes(const Scenario& now,
                                                   const std::vector<std::string>& overrides) {
  const std::vector<FirstChange> others = for_long_samples(now, overrides);
  const auto fused = name(overrides, "training.loss") ? std::nullopt : fused_loss_of(now);
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
